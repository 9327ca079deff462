"""Probability distributions of whole points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
CVAR_LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class Distribution:
    """The probability distribution of a score or of the points to come.

    Attributes:
        start: the first point value of the support.
        probabilities: (values,) float64: the chance of each point value from `start` on; they
            sum to 1.
        lumped: a bound on the probability that was moved into the first or the last value from
            beyond it; 0 for an exact support.
    """

    start: int
    probabilities: NDArray[np.float64]
    lumped: float = 0.0

    def __post_init__(self) -> None:
        self.probabilities.flags.writeable = False

    @property
    def values(self) -> NDArray[np.int64]:
        """(values,) int64: the point values of the support."""
        return self.start + np.arange(len(self.probabilities))

    @cached_property
    def mean(self) -> float:
        """The expectation."""
        return float(self.probabilities @ self.values)

    @cached_property
    def std(self) -> float:
        """The standard deviation."""
        return float(np.sqrt(self.probabilities @ (self.values - self.mean) ** 2))

    def cdf(self, points: int) -> float:
        """P(value <= points)."""
        return float(
            self._cumulative[min(max(points - self.start + 1, 0), len(self._cumulative) - 1)]
        )

    def at_least(self, points: int) -> float:
        """P(value >= points)."""
        return 1.0 - self.cdf(points - 1)

    def quantile(self, q: float) -> int:
        """The smallest value v with P(value <= v) >= q, for q from 0 to 1.

        Raises:
            ValueError: for a q outside of 0 to 1.
        """
        if not 0.0 <= q <= 1.0:
            raise ValueError(f"a quantile is asked for by a number from 0 to 1, not {q}")
        return self.start + max(int(np.searchsorted(self._cumulative, q - _ROUNDING)) - 1, 0)

    def cvar(self, level: float) -> float:
        """The conditional value at risk: the mean of the worst share `level` of all outcomes.

        Raises:
            ValueError: for a level that is not above 0 and at most 1.
        """
        if not 0.0 < level <= 1.0:
            raise ValueError(f"the level of CVaR must be above 0 and at most 1, not {level}")
        worst = np.diff(np.minimum(self._cumulative, level))
        return float(worst @ self.values / worst.sum())

    def shifted(self, points: int) -> Distribution:
        """The distribution of the value plus some points."""
        return Distribution(self.start + points, self.probabilities, self.lumped)

    def to_dict(self) -> dict[str, Any]:
        """The figures people ask for, as plain numbers: ready for JSON.

        Quantiles, CVaR at 5 %, and the chance of at least each multiple of 50 points that is
        neither almost certain nor almost impossible.
        """
        marks = range(0, int(self.values[-1]) + 1, 50)
        return {
            "mean": self.mean,
            "std": self.std,
            "quantiles": {str(q): self.quantile(q) for q in QUANTILES},
            "cvar": {str(CVAR_LEVEL): self.cvar(CVAR_LEVEL)},
            "at_least": {
                str(points): self.at_least(points)
                for points in marks
                if 0.001 <= self.at_least(points) <= 0.999
            },
            "lumped": self.lumped,
        }

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        """(values + 1,): the probability below each value, and 1."""
        return np.concatenate([[0.0], np.cumsum(self.probabilities).clip(max=1.0)])

    def __repr__(self) -> str:
        return f"<Distribution: {self.mean:.4f} +- {self.std:.4f}>"


_ROUNDING = 1e-12
"""Sums of probabilities this close to a quantile's level count as reaching it."""
