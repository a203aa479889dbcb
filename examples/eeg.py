"""Rhythms of a brain: filters and instantaneous power of an electroencephalogram.

Data: ``eeg.dat`` of matplotlib, 800 samples in 10 s of 4 channels.

A bank of band-pass filters (biquads of Bristow-Johnson's cookbook, https://www.w3.org/TR/audio-eq-cookbook/) runs forwards
and backwards over each channel; their power is smoothed.
"""

from __future__ import annotations

import numpy as np
import stator
from matplotlib.cbook import get_sample_data

RATE = 80.0  # samples per second
BANDS = np.geomspace(2.0, 32.0, 48)  # centres in Hz


def load() -> tuple[np.ndarray]:
    """Voltages of one channel a row, shape (4, 800)."""
    with get_sample_data("eeg.dat") as file:
        data = np.frombuffer(file.read(), float).reshape(800, 4)
    return (np.ascontiguousarray((data - data.mean(axis=0)).T),)


@stator.compile
class Biquad:
    """A band-pass filter with a state of its own; the peak is 1."""

    def __init__(self, centre, rate, quality):
        angle = 2 * np.pi * centre / rate
        alpha = np.sin(angle) / (2 * quality)
        self.b0 = alpha / (1 + alpha)
        self.a1 = -2 * np.cos(angle) / (1 + alpha)
        self.a2 = (1 - alpha) / (1 + alpha)
        self.reset()

    def reset(self):
        self.z1 = self.z2 = 0.0

    def push(self, x):
        y = self.b0 * x + self.z1
        self.z1 = self.z2 - self.a1 * y
        self.z2 = -self.b0 * x - self.a2 * y
        return y

    def run(self, signal):
        self.reset()
        out = np.empty_like(signal)
        for k in range(len(signal)):
            out[k] = self.push(signal[k])
        return out

    def both_ways(self, signal):
        """Without delay: once forwards, once backwards."""
        return self.run(self.run(signal)[::-1])[::-1]


@stator.compile
def smooth_power(signal, decay):
    power = np.empty_like(signal)
    level = 0.0
    for k in range(len(signal)):
        level += decay * (signal[k] * signal[k] - level)
        power[k] = level
    return power


@stator.compile
def scalogram(signals, centres, rate):
    """Power of each channel, band and sample."""
    out = np.empty((len(signals), len(centres), signals.shape[1]))
    for j in range(len(centres)):
        band = Biquad(centres[j], rate, 4.0)
        for i in range(len(signals)):
            out[i, j] = smooth_power(band.both_ways(signals[i]), 0.1)
    return out


def work(signals: np.ndarray) -> dict[str, np.ndarray]:
    return {"power": scalogram(signals, BANDS, RATE)}


def draw(figure, data, results) -> None:
    power = np.log10(results["power"] + 1e-3)
    for k, axes in enumerate(figure.subplots(2, 2, sharex=True, sharey=True).flat):
        axes.pcolormesh(np.arange(800) / RATE, BANDS, power[k], shading="auto", rasterized=True)
        axes.set_yscale("log")
        axes.set_title(f"channel {k + 1}")
    figure.supxlabel("time [s]")
    figure.supylabel("frequency [Hz]")
