"""Which of several policies is better, and how sure that is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from yahtzee_env.evaluation.intervals import Interval, SampleMean
from yahtzee_env.evaluation.measure import evaluate
from yahtzee_env.evaluation.play import OnIllegal
from yahtzee_env.evaluation.result import Evaluation
from yahtzee_env.rules import Ruleset


@dataclass(frozen=True)
class Difference:
    """How much more the first of two policies scores than the second, in points per game.

    The standard errors are those of the differences game by game, with the same dice.
    """

    first: str
    second: str
    games: int
    mean: float
    sem: float
    luck_adjusted_mean: float
    luck_adjusted_sem: float

    @property
    def ci95(self) -> Interval:
        """A 95 % interval of the difference."""
        return SampleMean(self.mean, self.sem, self.games).ci95

    @property
    def luck_adjusted_ci95(self) -> Interval:
        """A 95 % interval of the difference by luck-adjusted scores: usually much narrower."""
        return SampleMean(self.luck_adjusted_mean, self.luck_adjusted_sem, self.games).ci95

    @classmethod
    def of(cls, first: Evaluation, second: Evaluation) -> Difference:
        """The difference of two evaluations with the same dice."""
        raw = SampleMean.of(first.scores - second.scores)
        adjusted = SampleMean.of(first.adjusted_scores - second.adjusted_scores)
        return cls(
            first.policy, second.policy, raw.n, raw.mean, raw.sem, adjusted.mean, adjusted.sem
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
        evaluations: one per policy, in the order given.
        differences: one per pair, in the order of the policies.
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


def compare(
    policies: Sequence[Any],
    ruleset: str | Ruleset = "yahtzee",
    games: int = 1000,
    seed: int = 0,
    on_illegal: OnIllegal = "raise",
    executor: Executor | None = None,
) -> Comparison:
    """Evaluate policies on the same dice, and each pair of them by its differences game by game.

    Args:
        policies: at least two of what `evaluate` takes.
        ruleset: a rule set, its name or its JSON file.
        games: how many each policy plays, at least 2.
        seed: of the dice and of the policies' generators.
        on_illegal: as for `evaluate`.
        executor: evaluates the policies in parallel, which changes no result. A process pool needs
            policies that pickle, as all those of the package do.

    Raises:
        ValueError: for fewer than two policies, and where `evaluate` does.
        RuntimeError: for a result above the optimum, as `evaluate`.
    """
    if isinstance(policies, str) or len(policies) < 2:
        raise ValueError(f"a comparison needs at least two policies, not {policies!r}")
    measure = partial(evaluate, ruleset=ruleset, games=games, seed=seed, on_illegal=on_illegal)
    results = tuple((executor.map if executor else map)(measure, policies))
    return Comparison(results, tuple(Difference.of(*pair) for pair in combinations(results, 2)))
