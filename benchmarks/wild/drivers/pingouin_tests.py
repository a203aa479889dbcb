"""The statistics of a small study: tests, corrections, bootstraps of an effect and how often tests are right."""

import numpy as np
import pandas as pd
import pingouin as pg

PACKAGE = "pingouin"


def prepare():
    np.random.seed(9)  # for the package's bootstraps
    rng = np.random.default_rng(52)
    rows = []
    for subject in range(16):
        base = rng.normal(10.0, 2.0)
        for dose, gain in (("none", 0.0), ("low", 0.8), ("high", 1.9)):
            rows.append((subject, "ab"[subject % 2], dose, base + gain + rng.normal()))
    return pd.DataFrame(rows, columns=["subject", "group", "dose", "score"]), rng


def numbers(table):
    return table.select_dtypes("number").to_numpy(dtype=float)


def drive(table, rng):
    out = []
    doses = {name: part["score"].to_numpy() for name, part in table.groupby("dose", sort=True)}
    names = sorted(doses)
    ps = []
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            test = pg.ttest(doses[first], doses[second], paired=True)
            ps.append(float(numbers(test)[0][2]))
            ranks = pg.wilcoxon(doses[first], doses[second])
            effect = pg.compute_effsize(doses[first], doses[second], paired=True, eftype="hedges")
            out.append((first, second, numbers(test), numbers(ranks), float(effect)))
            out.append(numbers(pg.corr(doses[first], doses[second], method="shepherd")))
    out.append([pg.multicomp(ps, method=m)[1] for m in ("bonf", "holm", "fdr_bh")])
    out.append(numbers(pg.rm_anova(data=table, dv="score", within="dose", subject="subject", detailed=True)))
    out.append(
        numbers(pg.mixed_anova(data=table, dv="score", within="dose", subject="subject", between="group"))
    )
    out.append(numbers(pg.anova(data=table, dv="score", between=["group", "dose"])))

    def spread(a, b):
        return (np.mean(a) - np.mean(b)) / np.sqrt(0.5 * (np.var(a, ddof=1) + np.var(b, ddof=1)))

    pair = (doses["high"], doses["none"])
    out.append(pg.compute_bootci(*pair, func=spread, paired=True, n_boot=500, method="per", seed=42))

    for effect in (0.0, 0.6, 1.2):
        hits = 0
        for _ in range(12):
            a, b = rng.normal(size=12), rng.normal(size=12) + effect
            hits += bool(numbers(pg.mwu(a, b))[0][1] < 0.05)
        power, factor = pg.power_ttest(d=effect + 0.1, n=12), pg.bayesfactor_ttest(effect + 1.0, 12, 12)
        out.append((effect, hits, float(power), float(factor)))
    angles = rng.vonmises(0.5, 2.0, 40)
    out.append((pg.circ_mean(angles), pg.circ_r(angles), pg.circ_rayleigh(angles)))
    return out
