"""Confidence intervals of means by Student's t, which hold for a few values as for many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Interval = tuple[float, float]


class SampleMean(NamedTuple):
    """A sample mean, its standard error, and the size of the sample."""

    mean: float
    sem: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float] | NDArray[Any]) -> SampleMean:
        """The mean of some values.

        Raises:
            ValueError: for fewer than two.
        """
        if len(values) < 2:
            raise ValueError(f"a standard error needs at least two values, not {len(values)}")
        sample = np.asarray(values)
        sem = float(sample.std(ddof=1)) / math.sqrt(len(sample))
        return cls(float(sample.mean()), sem, len(sample))

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval."""
        return student_t(self.n - 1) * self.sem

    @property
    def ci95(self) -> Interval:
        """The 95 % interval of the expectation."""
        return self.mean - self.half_width, self.mean + self.half_width

    def to_dict(self) -> dict[str, Any]:
        """The mean, its standard error and its 95 % interval, ready for JSON."""
        return {"mean": self.mean, "sem": self.sem, "ci95": list(self.ci95)}

    def __str__(self) -> str:
        return f"{self.mean:.2f} +- {self.sem:.2f}"


@cache
def student_t(freedom: int) -> float:
    """The 0.975 quantile of Student's t distribution, by its degrees of freedom, at least 1.

    With ``t = sqrt(freedom) * tan(angle)`` the density becomes that of ``cos(angle) ** (freedom -
    1)``, which Gauss-Legendre quadrature integrates to rounding error. The distribution function is
    concave in the angle, so Newton's method approaches the quantile from below.
    """
    nodes, weights = np.polynomial.legendre.leggauss(40)
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    angle = 0.0
    for _ in range(50):
        density = np.cos(angle * (nodes + 1) / 2) ** (freedom - 1)
        above_median = scale * angle / 2 * float(weights @ density)
        angle += (0.475 - above_median) / (scale * math.cos(angle) ** (freedom - 1))
    return math.sqrt(freedom) * math.tan(angle)
