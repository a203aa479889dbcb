"""An echo that changes midway, cancelled sample by sample by adaptive filters side by side."""

import numpy as np
import padasip

PACKAGE = "padasip"


def prepare():
    rng = np.random.default_rng(21)
    far = np.convolve(rng.normal(size=1500), [0.6, 0.3, 0.1], mode="same")
    first = np.array([0.5, -0.3, 0.2, 0.1, -0.05, 0.02])
    second = np.array([0.1, 0.6, -0.2, -0.1, 0.05, 0.0])
    echo = np.concatenate([np.convolve(far, first)[:700], np.convolve(far, second)[700:1500]])
    return far, echo + 0.02 * rng.normal(size=1500)


def drive(far, microphone):
    n = 6
    filters = {
        "lms": padasip.filters.FilterLMS(n, mu=0.05, w="zeros"),
        "nlms": padasip.filters.FilterNLMS(n, mu=0.5, w="zeros"),
        "nssl": padasip.filters.FilterNSSLMS(n, mu=0.05, w="zeros"),
        "gngd": padasip.filters.FilterGNGD(n, mu=0.5, w="zeros"),
        "llncosh": padasip.filters.FilterLlncosh(n, mu=0.05, lambd=3.0, w="zeros"),
        "rls": padasip.filters.FilterRLS(n, mu=0.98, w="zeros"),
        "ap": padasip.filters.FilterAP(n, order=3, mu=0.4, w="zeros"),
    }
    history = padasip.preprocess.input_from_history(far, n)
    heard = microphone[n - 1 :]
    errors = {name: np.zeros(len(history)) for name in filters}
    # the one that did best of late speaks for all
    recent, chosen, clean = dict.fromkeys(filters, 0.0), [], np.zeros(len(history))
    for k, (x, d) in enumerate(zip(history, heard, strict=True)):
        best = min(recent, key=recent.get)
        for name, one in filters.items():
            e = d - one.predict(x)
            one.adapt(d, x)
            errors[name][k] = e
            recent[name] = 0.9 * recent[name] + 0.1 * e * e
        chosen.append(best)
        clean[k] = errors[best][k]
    scores = {name: padasip.misc.MSE(e, np.zeros_like(e)) for name, e in errors.items()}
    final = {name: one.w.copy() for name, one in filters.items()}
    y, e, w = padasip.filters.FilterNLMS(n, mu=0.5, w="zeros").run(heard, history)
    novelty = padasip.detection.learning_entropy(w, m=30, order=2, alpha=[4.0, 8.0, 12.0])
    jump = padasip.detection.ELBND(w, e, function="max")
    return scores, final, chosen, clean, y, novelty, jump
