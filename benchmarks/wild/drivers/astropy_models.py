"""Quantities, separations of stars and a spectral line fitted, as in the notebook of an observer."""

import warnings

import astropy.units as u
import numpy as np
from astropy.coordinates import SkyCoord
from astropy.modeling import fitting, models
from astropy.stats import sigma_clipped_stats

PACKAGE = "astropy"


def prepare():
    rng = np.random.default_rng(11)
    ra, dec = rng.uniform(40.0, 42.0, 12), rng.uniform(-6.0, -4.0, 12)
    wavelengths = np.linspace(6500.0, 6620.0, 90)
    spectra = []
    for _ in range(10):
        line = 3.0 * np.exp(-0.5 * ((wavelengths - rng.uniform(6555, 6570)) / rng.uniform(3, 7)) ** 2)
        spectra.append(1.0 + 0.002 * (wavelengths - 6560.0) + line + rng.normal(size=90) * 0.08)
    return ra, dec, wavelengths, spectra


def luminosity(flux, distance):
    return (4.0 * np.pi * distance**2 * flux).to(u.erg / u.s)


def drive(ra, dec, wavelengths, spectra):
    stars = [
        SkyCoord(a * u.deg, d * u.deg, distance=(10.0 + i) * u.pc) for i, (a, d) in enumerate(zip(ra, dec))
    ]
    pairs = []
    for i, first in enumerate(stars):
        for second in stars[i + 1 : i + 8]:
            apart = first.separation(second).to_value(u.arcmin)
            angle = first.position_angle(second).to_value(u.deg)
            pairs.append((apart, angle, first.separation_3d(second).to_value(u.pc)))
    galactic = [(s.galactic.l.deg, s.galactic.b.deg, s.cartesian.xyz.to_value(u.au)) for s in stars]

    lines = []
    fitter = fitting.LevMarLSQFitter()
    for spectrum in spectra:
        start = models.Gaussian1D(2.0, 6560.0, 4.0) + models.Linear1D(0.0, 1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = fitter(start, wavelengths, spectrum)
        mean, median, deviation = sigma_clipped_stats(spectrum - fitted(wavelengths), sigma=2.5)
        shift = (fitted.mean_0.value - 6562.8) / 6562.8 * 299792.458 * u.km / u.s
        power = luminosity(fitted.amplitude_0.value * 1e-15 * u.W / u.m**2, 12.0 * u.kpc)
        lines.append(
            (fitted.parameters.copy(), mean, median, deviation, shift.to_value(u.m / u.s), power.value)
        )
    return pairs, galactic, lines
