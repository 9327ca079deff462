"""Which of several policies is better, and how sure that is."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.evaluation.measure import evaluate
from yahtzee_env.evaluation.play import OnIllegal
from yahtzee_env.evaluation.result import Z95, Evaluation
from yahtzee_env.rules import Ruleset

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Difference:
    """How much more the first of two policies scores than the second, in points a game.

    The standard errors are those of the differences game by game, with the same dice.
    """

    first: str
    second: str
    mean: float
    sem: float
    luck_adjusted_mean: float
    luck_adjusted_sem: float

    @property
    def ci95(self) -> tuple[float, float]:
        """A 95 % interval of the difference."""
        return self.mean - Z95 * self.sem, self.mean + Z95 * self.sem

    @property
    def luck_adjusted_ci95(self) -> tuple[float, float]:
        """A 95 % interval of the difference by luck-adjusted scores: usually much narrower."""
        half = Z95 * self.luck_adjusted_sem
        return self.luck_adjusted_mean - half, self.luck_adjusted_mean + half

    @classmethod
    def of(cls, first: Evaluation, second: Evaluation) -> Difference:
        """The difference of two evaluations with the same dice."""
        return cls(
            first.policy,
            second.policy,
            *_mean_and_sem(first.scores - second.scores),
            *_mean_and_sem(first.adjusted_scores - second.adjusted_scores),
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain numbers, texts and lists."""
        intervals = {"ci95": self.ci95, "luck_adjusted_ci95": self.luck_adjusted_ci95}
        return {**vars(self), **{name: list(ends) for name, ends in intervals.items()}}

    def __str__(self) -> str:
        return (
            f"{self.first} - {self.second}: {self.mean:+.2f} +- {self.sem:.2f}, "
            f"luck-adjusted {self.luck_adjusted_mean:+.2f} +- {self.luck_adjusted_sem:.2f}"
        )


@dataclass(frozen=True)
class Comparison:
    """Several policies on the same dice.

    Attributes:
        evaluations: one a policy, in the order asked for.
        differences: one for each pair, in the order of the policies.
    """

    evaluations: tuple[Evaluation, ...]
    differences: tuple[Difference, ...]

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain numbers, texts, lists and dictionaries."""
        return {
            "evaluations": [result.to_dict() for result in self.evaluations],
            "differences": [pair.to_dict() for pair in self.differences],
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.evaluations, *self.differences)))

    def __rich__(self) -> Table:
        from yahtzee_env.evaluation.tables import comparison_table

        return comparison_table(self)


def compare(
    policies: Sequence[Any],
    ruleset: str | Ruleset = "yahtzee",
    games: int = 1000,
    seed: int = 0,
    on_illegal: OnIllegal = "raise",
) -> Comparison:
    """Evaluate policies on the same dice, and each pair of them by its differences game by game.

    Args:
        policies: at least two of what `evaluate` takes.
        ruleset: a rule set or its name.
        games: how many each policy plays, at least 2.
        seed: of the dice and of the policies' generators.
        on_illegal: as for `evaluate`.

    Raises:
        ValueError: for fewer than two policies, and where `evaluate` does.
        RuntimeError: for a result above the optimum, as `evaluate`.
    """
    if isinstance(policies, str) or len(policies) < 2:
        raise ValueError(f"a comparison needs at least two policies, not {policies!r}")
    results = tuple(evaluate(policy, ruleset, games, seed, on_illegal) for policy in policies)
    return Comparison(results, tuple(Difference.of(*pair) for pair in combinations(results, 2)))


class SeedSummary(NamedTuple):
    """The mean over trained seeds and the half-width of its 95 % interval, in points."""

    mean: float
    half_width: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} +- {self.half_width:.1f}"


def seed_summary(means: Sequence[float]) -> SeedSummary:
    """How well a way of training does: the mean over runs that differ in their seed only.

    The runs are the unit of replication, not their games, so the interval is Student's t over the
    runs' mean scores.

    Args:
        means: the mean score of each run, at least two.

    Raises:
        ValueError: for fewer than two runs.
        ImportError: if SciPy is missing, with the command that installs it.
    """
    if len(means) < 2:
        raise ValueError(f"an interval needs at least two trained seeds, not {len(means)}")
    try:
        from scipy.stats import t as student
    except ImportError:
        raise ImportError('seed_summary needs SciPy: pip install "yahtzee-env[learn]"') from None
    mean, sem = _mean_and_sem(np.asarray(means, float))
    return SeedSummary(mean, float(student.ppf(0.975, len(means) - 1)) * sem)


def _mean_and_sem(values: NDArray[Any]) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
