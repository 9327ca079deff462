"""The history of a run, kept across interruptions: its evaluations and the time it took."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import torch

from yahtzee_env.files import write_atomically


@dataclass
class History:
    """The evaluations of a run, a row each, and its time in seconds.

    Attributes:
        evaluations: rows that begin with `timesteps`, `games` (finished in training) and `seconds`.
        best_weights: the weights of the policy at the best evaluation.
        evaluating: seconds spent on evaluations.
        earlier: seconds of training in earlier processes.
    """

    evaluations: list[dict[str, float]] = field(default_factory=list)
    best_weights: dict[str, torch.Tensor] = field(default_factory=dict)
    evaluating: float = 0.0
    earlier: float = 0.0

    def __post_init__(self) -> None:
        self._begun = monotonic()

    @property
    def seconds(self) -> float:
        """The time of the whole run so far."""
        return self.earlier + monotonic() - self._begun

    @property
    def last_evaluated(self) -> int:
        """The timesteps at the last evaluation, 0 before the first."""
        return int(self.evaluations[-1]["timesteps"]) if self.evaluations else 0

    @property
    def best(self) -> dict[str, float]:
        """The evaluation with the highest luck-adjusted score."""
        return max(self.evaluations, key=lambda row: row["luck_adjusted_mean"])

    def write(self, path: Path) -> None:
        """Write the evaluations as CSV, all or nothing."""

        def fill(temporary: Path) -> None:
            with temporary.open("w", newline="", encoding="utf-8") as file:
                table = csv.DictWriter(file, list(self.evaluations[0]), lineterminator="\n")
                table.writeheader()
                table.writerows(self.evaluations)

        write_atomically(path, fill)

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {
            "evaluations": self.evaluations,
            "best_weights": self.best_weights,
            "evaluating": self.evaluating,
            "seconds": self.seconds,
        }

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> History:
        """The history in a checkpoint; its clock continues from now."""
        return cls(
            state["evaluations"], state["best_weights"], state["evaluating"], state["seconds"]
        )
