"""Survival of patients: curves of groups, fitted distributions and regressions, with a simulated trial."""

import numpy as np
import pandas as pd
from lifelines import CoxPHFitter, KaplanMeierFitter, NelsonAalenFitter, WeibullFitter
from lifelines.statistics import logrank_test
from lifelines.utils import concordance_index

PACKAGE = "lifelines"


def prepare():
    rng = np.random.default_rng(23)
    age, treated = rng.normal(60.0, 8.0, 90), rng.integers(0, 2, 90)
    scale = 20.0 * np.exp(-0.03 * (age - 60.0) + 0.5 * treated)
    lasted, observed_until = scale * rng.weibull(1.4, 90), rng.uniform(5.0, 40.0, 90)
    table = pd.DataFrame(
        {
            "months": np.minimum(lasted, observed_until).round(2) + 0.01,
            "died": (lasted <= observed_until).astype(int),
            "age": age,
            "treated": treated,
        }
    )
    return table, rng


def drive(table, rng):
    out = []
    for arm, part in table.groupby("treated"):
        curve = KaplanMeierFitter().fit(part["months"], part["died"])
        hazard = NelsonAalenFitter().fit(part["months"], part["died"])
        weibull = WeibullFitter().fit(part["months"], part["died"])
        out.append(
            (
                int(arm),
                curve.survival_function_.to_numpy(),
                curve.confidence_interval_.to_numpy(),
                float(curve.median_survival_time_),
                hazard.cumulative_hazard_.to_numpy(),
                (float(weibull.lambda_), float(weibull.rho_), weibull.variance_matrix_.to_numpy()),
            )
        )
    cox = CoxPHFitter().fit(table, "months", event_col="died")
    risk = cox.predict_partial_hazard(table).to_numpy()
    out.append((cox.params_.to_numpy(), cox.standard_errors_.to_numpy(), float(cox.log_likelihood_), risk))
    out.append(float(concordance_index(table["months"], -risk, table["died"])))

    # How often would a trial of this size see the difference?
    seen = []
    for better in (0.0, 0.4, 0.8):
        ps = []
        for _ in range(6):
            first, second = 20.0 * rng.weibull(1.4, 30), 20.0 * np.exp(better) * rng.weibull(1.4, 30)
            end = np.full(30, 25.0)
            test = logrank_test(np.minimum(first, end), np.minimum(second, end), first <= end, second <= end)
            ps.append((float(test.p_value), float(test.test_statistic)))
        seen.append((better, ps))
    return out, seen
