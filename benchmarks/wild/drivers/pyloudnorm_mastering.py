"""The loudness of several takes measured, limited block by block and brought to one level."""

import numpy as np
import pyloudnorm

PACKAGE = "pyloudnorm"

RATE = 8000


def prepare():
    rng = np.random.default_rng(13)
    takes = []
    for k in range(3):
        t = np.arange(int((5 + k) * RATE)) / RATE
        swell = 0.3 + 0.25 * np.sin(2 * np.pi * (0.2 + 0.1 * k) * t)
        voice = sum(np.sin(2 * np.pi * 110 * (k + 2) * n * t + n) / n for n in range(1, 5))
        left = swell * voice + 0.02 * rng.normal(size=t.size)
        right = 0.7 * swell * np.roll(voice, 40) + 0.02 * rng.normal(size=t.size)
        takes.append(np.stack([left, right], axis=1) * 0.4)
    return (takes,)


def limit(take, ceiling, block=32):
    """A limiter: the gain falls at once where a block is too loud, and comes back slowly."""
    out, gain, gains = np.empty_like(take), 1.0, []
    for begin in range(0, len(take), block):
        piece = take[begin : begin + block]
        peak = np.abs(piece).max()
        wanted = ceiling / peak if peak > ceiling else 1.0
        target = wanted if wanted < gain else gain + 0.05 * (wanted - gain)
        out[begin : begin + block] = piece * np.linspace(gain, target, len(piece))[:, None]
        gain = target
        gains.append(gain)
    return np.clip(out, -ceiling, ceiling), gains


def drive(takes):
    report = []
    for filter_class in ("K-weighting", "DeMan", "Fenton/Lee 1"):
        meter = pyloudnorm.Meter(RATE, filter_class=filter_class)
        for take in takes:
            before = meter.integrated_loudness(take)
            limited, gains = limit(pyloudnorm.normalize.loudness(take, before, -16.0), 0.5)
            after = meter.integrated_loudness(limited)
            final = pyloudnorm.normalize.peak(pyloudnorm.normalize.loudness(limited, after, -23.0), -6.0)
            report.append((before, after, meter.loudness_range(final), min(gains), final[::500].copy()))
            report.append(list(meter.blockwise_loudness))
    return report
