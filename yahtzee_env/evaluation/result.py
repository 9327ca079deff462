"""The result of an evaluation."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import KEEPS, N_KEEPS
from yahtzee_env.evaluation.intervals import Interval, SampleMean
from yahtzee_env.evaluation.metrics import DECISIONS, measurements
from yahtzee_env.evaluation.play import Played
from yahtzee_env.rules import Ruleset

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class BoxSummary:
    """How a box was filled: mean points, and the share of games with 0 in it."""

    mean: float
    zero_rate: float


@dataclass(frozen=True)
class CardSummary:
    """What the cards of many games held.

    Attributes:
        boxes: each box by name.
        upper_bonus_rate: the share of games with an upper bonus.
        upper_bonus_mean: upper bonus points per game.
        five_alike_rate: the share of games with points in the five-alike box.
        extra_bonus_mean: extra five-alike bonus points per game.

    What the rules do not have is None.
    """

    boxes: dict[str, BoxSummary]
    upper_bonus_rate: float | None
    upper_bonus_mean: float | None
    five_alike_rate: float | None
    extra_bonus_mean: float | None

    @classmethod
    def of(cls, ruleset: Ruleset, records: NDArray[np.void]) -> CardSummary:
        """The summary of finished games."""
        scores = records["scores"][:, : len(ruleset.boxes)]
        extra = records["extra_bonuses"] * ruleset.extra_bonus
        upper_bonus = records["score"] - scores.sum(axis=1) - extra
        has_steps, five = bool(ruleset.bonus_steps), ruleset.five_alike_box
        return cls(
            boxes={
                name: BoxSummary(float(scores[:, k].mean()), float((scores[:, k] == 0).mean()))
                for k, name in enumerate(ruleset.box_names)
            },
            upper_bonus_rate=float((upper_bonus > 0).mean()) if has_steps else None,
            upper_bonus_mean=float(upper_bonus.mean()) if has_steps else None,
            five_alike_rate=(
                None if five is None else float((scores[:, ruleset.box_index(five)] > 0).mean())
            ),
            extra_bonus_mean=float(extra.mean()) if ruleset.extra_bonus else None,
        )


@dataclass(frozen=True)
class Mistake:
    """A kind of mistake: what was chosen instead of what, and the points that it cost."""

    decision: str
    chosen: str
    best: str
    lost_each: float
    lost_per_game: float

    def __str__(self) -> str:
        return (
            f"{self.decision}: {self.chosen} instead of {self.best}: "
            f"lost {self.lost_each:.2f} each time, {self.lost_per_game:.3f} per game"
        )


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How well a policy plays. Every figure is in points of the game.

    Every game satisfies ``score = optimum + luck - regret``: luck is the sum of what the dice gave
    above their expectation, regret the sum of what the decisions lost against the best ones. The
    luck-adjusted scores subtract ``coefficient * luck``, a control variate whose coefficient is
    fitted on other games; they have the same expectation and less variance.

    Attributes:
        policy: the name of the policy.
        ruleset: the name of the rule set.
        games: how many games were played.
        seed: the seed of the dice.
        optimum: the expected score of perfect play.
        scores: (games,) int64.
        regret: (games, 3, turns) float64, by rolls left and turn.
        coefficient: of the control variate.
        cards: the final cards.
        optimal_cards: the final cards of perfect play with the same dice.
        mistakes: the ten most expensive kinds of mistake.
        illegal_actions: how many were replaced by random ones.
    """

    policy: str
    ruleset: str
    games: int
    seed: int
    optimum: float
    scores: NDArray[np.int64]
    regret: NDArray[np.float64]
    coefficient: float
    cards: CardSummary
    optimal_cards: CardSummary
    mistakes: tuple[Mistake, ...]
    illegal_actions: int

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Evaluation):
            return NotImplemented
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return all(np.array_equal(one, two) for one, two in pairs)

    @property
    def luck(self) -> NDArray[np.float64]:
        """(games,) float64: what the dice gave above expectation."""
        return luck_of(self.scores, self.regret, self.optimum)

    @property
    def adjusted_scores(self) -> NDArray[np.float64]:
        """(games,) float64: the scores less ``coefficient * luck``."""
        return self.scores - self.coefficient * self.luck

    @property
    def mean(self) -> float:
        """The mean score."""
        return SampleMean.of(self.scores).mean

    @property
    def std(self) -> float:
        """The standard deviation of the scores."""
        return float(self.scores.std(ddof=1))

    @property
    def sem(self) -> float:
        """The standard error of the mean score."""
        return SampleMean.of(self.scores).sem

    @property
    def ci95(self) -> Interval:
        """A 95 % interval of the expected score."""
        return SampleMean.of(self.scores).ci95

    @property
    def luck_adjusted_mean(self) -> float:
        """The mean luck-adjusted score: the same expectation as the mean, less variance."""
        return SampleMean.of(self.adjusted_scores).mean

    @property
    def luck_adjusted_sem(self) -> float:
        """The standard error of the luck-adjusted mean."""
        return SampleMean.of(self.adjusted_scores).sem

    @property
    def luck_adjusted_ci95(self) -> Interval:
        """A 95 % interval of the expected score, by luck-adjusted scores: usually narrower."""
        return SampleMean.of(self.adjusted_scores).ci95

    @property
    def pct_of_optimal(self) -> float:
        """The luck-adjusted mean in % of the optimum; 100 where the optimum is 0."""
        return 100.0 * self.luck_adjusted_mean / self.optimum if self.optimum else 100.0

    @property
    def quantiles(self) -> dict[float, float]:
        """Quantiles of the scores."""
        return {q: float(np.quantile(self.scores, q)) for q in QUANTILES}

    @property
    def regret_per_game(self) -> float:
        """The points per game that the best decisions would have gained."""
        return float(self.regret.sum(axis=(1, 2)).mean())

    @property
    def regret_by_decision(self) -> dict[str, float]:
        """Regret per game by kind of decision."""
        lost = self.regret.sum(axis=2).mean(axis=0)
        return dict(zip(DECISIONS, lost.tolist(), strict=True))

    @property
    def regret_by_turn(self) -> list[float]:
        """Regret per game by turn."""
        by_turn: list[float] = self.regret.sum(axis=1).mean(axis=0).tolist()
        return by_turn

    @property
    def upper_bonus_rate(self) -> float | None:
        """The share of games with an upper bonus; None where the rules have none."""
        return self.cards.upper_bonus_rate

    @property
    def five_alike_rate(self) -> float | None:
        """The share of games with points in the five-alike box; None without such a box."""
        return self.cards.five_alike_rate

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain numbers, texts, lists and dictionaries."""
        return {
            "policy": self.policy,
            "ruleset": self.ruleset,
            "games": self.games,
            "seed": self.seed,
            "optimum": self.optimum,
            **measurements(self),
            "std": self.std,
            "ci95": list(self.ci95),
            "luck_adjusted_ci95": list(self.luck_adjusted_ci95),
            "quantiles": {str(q): value for q, value in self.quantiles.items()},
            "control_variate_coefficient": self.coefficient,
            "regret_by_turn": self.regret_by_turn,
            "mistakes": [vars(mistake) for mistake in self.mistakes],
            "cards": _card_dict(self.cards),
            "optimal_cards": _card_dict(self.optimal_cards),
            "illegal_actions": self.illegal_actions,
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        return (
            f"{self.policy} on {self.ruleset}: {self.mean:.2f} +- {self.sem:.2f}, luck-adjusted "
            f"{self.luck_adjusted_mean:.2f} +- {self.luck_adjusted_sem:.2f} of {self.optimum:.2f} "
            f"({self.games} games, seed {self.seed})"
        )


def luck_of(
    scores: NDArray[np.int64], regret: NDArray[np.float64], optimum: float
) -> NDArray[np.float64]:
    """(games,) float64: what the dice gave in each game above their expectation."""
    luck: NDArray[np.float64] = scores + regret.sum(axis=(1, 2)) - optimum
    return luck


def worst_mistakes(ruleset: Ruleset, played: Played, most: int = 10) -> tuple[Mistake, ...]:
    """The most expensive kinds of mistake, in words."""
    games = len(played.records)
    worst = sorted(played.mistakes.items(), key=lambda item: -item[1][0])[:most]
    return tuple(
        Mistake(
            DECISIONS[rolls_left],
            *_words(ruleset, chosen, best),
            lost / times,
            lost / games,
        )
        for (rolls_left, chosen, best), (lost, times) in worst
    )


def _words(ruleset: Ruleset, chosen: int, best: int) -> tuple[str, str]:
    """Such as "kept 4-4" and "1-2-3-4", or "filled ones" and "keeping 1-2-3-4"."""
    fills, should_fill = chosen >= N_KEEPS, best >= N_KEEPS
    past = "filled" if fills else "kept"
    gerund = "" if fills == should_fill else "filling " if should_fill else "keeping "
    return f"{past} {_object(ruleset, chosen)}", gerund + _object(ruleset, best)


def _object(ruleset: Ruleset, choice: int) -> str:
    if choice >= N_KEEPS:
        return ruleset.box_names[choice - N_KEEPS]
    return "-".join(map(str, KEEPS[choice])) or "no die"


def _card_dict(cards: CardSummary) -> dict[str, Any]:
    return {**vars(cards), "boxes": {name: vars(box) for name, box in cards.boxes.items()}}
