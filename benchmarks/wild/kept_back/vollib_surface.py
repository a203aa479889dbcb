"""A surface of implied volatilities from option prices, the greeks of each, and a hedge followed in time."""

import numpy as np
from vollib.black_scholes import black_scholes
from vollib.black_scholes.greeks.analytical import delta, gamma, rho, theta, vega
from vollib.black_scholes.implied_volatility import implied_volatility
from vollib.black_scholes_merton import black_scholes_merton

PACKAGE = "vollib"


def prepare():
    rng = np.random.default_rng(31)
    strikes, terms = np.linspace(80.0, 125.0, 31), np.array([0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0])
    quotes = []
    for term in terms:
        for strike in strikes:
            moneyness = np.log(strike / 100.0) / np.sqrt(term)
            smile = 0.2 - 0.05 * moneyness + 0.06 * moneyness**2 + rng.normal() * 0.002
            flag = "c" if strike >= 100.0 else "p"
            quotes.append(
                (
                    flag,
                    float(strike),
                    float(term),
                    float(black_scholes(flag, 100.0, strike, term, 0.02, smile)),
                )
            )
    return quotes, rng.normal(size=(300, 60))


def hedged(path):
    spot, cash, shares, worth = 100.0, black_scholes("c", 100.0, 105.0, 0.5, 0.02, 0.22), 0.0, []
    for day, shock in enumerate(path):
        left = 0.5 - day / 252.0
        wanted = delta("c", spot, 105.0, left, 0.02, 0.22)
        cash = (cash - (wanted - shares) * spot) * np.exp(0.02 / 252.0)
        shares = wanted
        spot *= np.exp((0.02 - 0.5 * 0.25**2) / 252.0 + 0.25 * np.sqrt(1.0 / 252.0) * shock)
        worth.append(cash + shares * spot - black_scholes("c", spot, 105.0, left - 1.0 / 252.0, 0.02, 0.22))
    return worth


def drive(quotes, shocks):
    surface = []
    for flag, strike, term, price in quotes:
        sigma = implied_volatility(price, 100.0, strike, term, 0.02, flag)
        greeks = [g(flag, 100.0, strike, term, 0.02, sigma) for g in (delta, gamma, rho, theta, vega)]
        surface.append((sigma, greeks))

    columns = {}
    for (_, strike, term, _), (sigma, _) in zip(quotes, surface, strict=True):
        columns.setdefault(term, []).append((np.log(strike / 100.0) / np.sqrt(term), sigma))
    smiles = [np.polynomial.polynomial.polyfit(*np.array(points).T, 2) for points in columns.values()]

    dividends = [
        black_scholes_merton("p", 100.0, k, 0.4, 0.02, 0.22, q)
        for k in range(90, 121, 2)
        for q in (0.0, 0.03)
    ]
    return surface, smiles, [hedged(path) for path in shocks], dividends
