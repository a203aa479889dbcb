"""Loans and their schedules, mortgages paid back early, projects compared and a pension saved for."""

from dataclasses import dataclass, field

import numpy as np
import numpy_financial as npf

PACKAGE = "numpy-financial"


@dataclass
class Loan:
    amount: float
    rate: float
    years: int
    extra: float = 0.0
    balances: list = field(default_factory=list)

    @property
    def payment(self):
        return -npf.pmt(self.rate / 12.0, self.years * 12, self.amount)

    def schedule(self):
        months = np.arange(1, self.years * 12 + 1)
        interest = -npf.ipmt(self.rate / 12.0, months, self.years * 12, self.amount)
        principal = -npf.ppmt(self.rate / 12.0, months, self.years * 12, self.amount)
        return interest, principal

    def pay_back(self):
        """Month by month, with what is paid beyond the payment due."""
        left, month, paid = self.amount, 0, 0.0
        payment = float(self.payment)
        while left > 0.005 and month < self.years * 12:
            due = left * self.rate / 12.0
            part = min(payment + self.extra, left + due)
            left, paid, month = left + due - part, paid + part, month + 1
            self.balances.append(left)
        return month, paid


def prepare():
    rng = np.random.default_rng(44)
    loans = [
        Loan(
            float(rng.integers(50, 400) * 1000),
            float(rng.uniform(0.01, 0.07)),
            int(rng.choice([10, 15, 20, 30])),
        )
        for _ in range(100)
    ]
    for loan in loans[::2]:
        loan.extra = float(rng.integers(50, 500))
    projects = [np.concatenate([[-rng.uniform(80, 120)], rng.uniform(5, 40, 9)]) for _ in range(300)]
    return loans, projects, rng.normal(0.05, 0.12, size=(500, 30))


def drive(loans, projects, markets):
    books = []
    for loan in loans:
        interest, principal = loan.schedule()
        months, paid = loan.pay_back()
        effective = npf.rate(loan.years * 12, -float(loan.payment), loan.amount, -0.01 * loan.amount)
        wait = npf.nper(loan.rate / 12.0, -float(loan.payment) - loan.extra, loan.amount)
        books.append((interest.sum(), principal[-1], months, paid, loan.balances[::12], effective, wait))

    ranked = []
    for flows in projects:
        rates = [npf.npv(r, flows) for r in (0.0, 0.03, 0.06, 0.1, 0.15)]
        inner, changed = npf.irr(flows), npf.mirr(flows, 0.05, 0.07)
        payback = int(np.argmax(np.cumsum(flows) > 0.0))
        ranked.append((rates, inner, changed, payback))
    ranked.sort(key=lambda row: -row[0][2])

    pensions = []
    for market in markets:
        saved = 0.0
        for year, gain in enumerate(market):
            saved = saved * (1.0 + gain) + 6000.0 * 1.02**year
        pension = float(-npf.pmt(0.02 / 12.0, 240, saved))
        pensions.append(
            (saved, pension, float(npf.pv(0.02 / 12.0, 240, -pension)), float(npf.fv(0.02, 20, 0, -saved)))
        )
    return books, ranked, pensions
