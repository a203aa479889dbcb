"""Beats, notes, melodies and chords that a program heard, scored against the true ones."""

import mir_eval
import numpy as np

PACKAGE = "mir_eval"

ROOTS = ["C", "D", "E", "F", "G", "A", "Bb"]
QUALITIES = ["maj", "min", "7", "min7", "maj7", "maj/3", "min/5", "dim"]


def prepare():
    rng = np.random.default_rng(14)
    beats = 5.0 + np.cumsum(0.5 + 0.01 * rng.normal(size=60))
    onsets = np.cumsum(rng.uniform(0.15, 0.5, 70))
    notes = np.stack([onsets, onsets + rng.uniform(0.1, 0.6, 70)], axis=1)
    pitches = 440.0 * 2.0 ** (rng.integers(-18, 18, 70) / 12.0)
    times = np.arange(0.0, 4.0, 0.01)
    melody = 300.0 * 2.0 ** (np.round(4 * np.sin(times)) / 12.0) * (np.sin(3 * times) > -0.6)
    bounds = np.concatenate([[0.0], np.cumsum(rng.uniform(0.5, 2.0, 30))])
    labels = [f"{ROOTS[rng.integers(7)]}:{QUALITIES[rng.integers(8)]}" for _ in range(30)]
    return beats, notes, pitches, times, melody, bounds, labels, rng


def drive(beats, notes, pitches, times, melody, bounds, labels, rng):
    report = []
    for noise in (0.002, 0.01, 0.03):
        heard = np.sort(beats + noise * rng.normal(size=beats.size))[rng.random(beats.size) > noise]
        report.append(dict(mir_eval.beat.evaluate(beats, heard)))
        report.append(
            dict(mir_eval.onset.evaluate(notes[:, 0], np.sort(notes[:, 0] + noise * rng.normal(size=70))))
        )
        found = notes + noise * rng.normal(size=notes.shape)
        found[:, 0] = np.maximum(found[:, 0], 0.0)
        found[:, 1] = np.maximum(found[:, 1], found[:, 0] + 0.05)
        tuned = pitches * 2.0 ** (10 * noise * rng.normal(size=pitches.size) / 12.0)
        report.append(dict(mir_eval.transcription.evaluate(notes, pitches, found, tuned)))
        sung = melody * 2.0 ** (10 * noise * rng.normal(size=melody.size) / 12.0)
        report.append(dict(mir_eval.melody.evaluate(times, melody, times, sung)))
        moved = np.sort(np.concatenate([[0.0], bounds[1:-1] + noise * rng.normal(size=29), bounds[-1:]]))
        guessed = [c if rng.random() > 0.2 else labels[int(rng.integers(30))] for c in labels]
        spans = np.stack([bounds[:-1], bounds[1:]], axis=1)
        shifted = np.stack([moved[:-1], moved[1:]], axis=1)
        report.append(dict(mir_eval.chord.evaluate(spans, labels, shifted, guessed)))
        report.append(dict(mir_eval.segment.evaluate(spans, labels, shifted, guessed)))
    return report
