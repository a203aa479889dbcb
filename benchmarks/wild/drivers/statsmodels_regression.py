"""Regressions of several kinds, recursive ones and tests on time series, redone on windows of the data."""

import numpy as np
import statsmodels.api as sm
from statsmodels.stats.diagnostic import het_breuschpagan
from statsmodels.stats.stattools import durbin_watson, jarque_bera
from statsmodels.tsa.ar_model import AutoReg
from statsmodels.tsa.stattools import acf, adfuller, pacf

PACKAGE = "statsmodels"


def prepare():
    rng = np.random.default_rng(34)
    x = rng.normal(size=(150, 3))
    noise = np.zeros(150)
    for t in range(1, 150):
        noise[t] = 0.6 * noise[t - 1] + rng.normal() * 0.5
    y = 1.0 + x @ np.array([0.5, -1.0, 0.2]) + noise
    y[::25] += 6.0
    counts = rng.poisson(np.exp(0.3 + 0.4 * x[:, 0]))
    return x, y, counts, (y > 1.0).astype(float)


def drive(x, y, counts, above):
    design = sm.add_constant(x)
    out = []
    for begin in range(0, 90, 15):
        part = slice(begin, begin + 60)
        line = sm.OLS(y[part], design[part]).fit()
        errors = line.get_robustcov_results("HAC", maxlags=3)
        influence = line.get_influence()
        out.append((line.params, line.bse, line.rsquared, line.aic, errors.bse, influence.cooks_distance[0]))
        out.append(
            (durbin_watson(line.resid), jarque_bera(line.resid), het_breuschpagan(line.resid, design[part]))
        )
        robust = sm.RLM(y[part], design[part], M=sm.robust.norms.HuberT()).fit()
        out.append((robust.params, robust.bse, robust.weights))
        feasible = sm.GLSAR(y[part], design[part], rho=1)
        fitted = feasible.iterative_fit(maxiter=4)
        out.append((fitted.params, np.asarray(feasible.rho)))
        poisson = sm.GLM(counts[part], design[part], family=sm.families.Poisson()).fit()
        out.append((poisson.params, poisson.deviance, poisson.pearson_chi2))
        chance = sm.Logit(above[part], design[part]).fit(disp=False, maxiter=30)
        out.append((chance.params, chance.llf, chance.get_margeff().margeff))
        median = sm.QuantReg(y[part], design[part]).fit(q=0.5)
        out.append((median.params, median.prsquared))
        series = AutoReg(y[part], lags=2).fit()
        out.append((series.params, series.predict(60, 66), acf(y[part], nlags=8), pacf(y[part], nlags=5)))
        out.append(adfuller(y[part], maxlag=4)[:3])
    recursive = sm.RecursiveLS(y[:60], design[:60]).fit()
    out.append((recursive.recursive_coefficients.filtered, recursive.cusum))
    return out
