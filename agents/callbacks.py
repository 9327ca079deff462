"""What happens beside the learning: evaluations and the progress bar."""

from __future__ import annotations

import time

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from stable_baselines3.common.callbacks import BaseCallback

from yahtzee_env import evaluate
from yahtzee_env.policies import ModelPolicy


class GreedyEvaluation(BaseCallback):
    """Plays greedy games, always with action masks, at intervals and at the end of training.

    Logs `eval/mean_reward`, the mean score in points, and `eval/mean_reward_sem`.

    Args:
        ruleset: the rules.
        games: games of each evaluation, the same ones every time.
        every: environment steps between two evaluations.
        seed: the seed of the games.
    """

    def __init__(self, ruleset: str, games: int, every: int, seed: int) -> None:
        super().__init__()
        self.ruleset, self.games, self.every, self.seed = ruleset, games, every, seed
        self.mean: float | None = None
        self._next = every

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        # The last rollout is followed by the evaluation at the end.
        if self._next <= self.num_timesteps < self.model._total_timesteps:
            self._next = self.num_timesteps + self.every
            self._evaluate()

    def _on_training_end(self) -> None:
        self._evaluate()
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        self.logger.dump(self.num_timesteps)

    def _evaluate(self) -> None:
        result = evaluate(ModelPolicy(self.model), self.ruleset, games=self.games, seed=self.seed)
        self.mean = result.mean
        self.logger.record("eval/mean_reward", result.mean)
        self.logger.record("eval/mean_reward_sem", result.sem)


class ProgressBar(BaseCallback):
    """Shows steps, speed and the score of the last evaluation; to be closed after training.

    Where the output is no terminal it writes a line for each evaluation instead.
    """

    def __init__(self, evaluation: GreedyEvaluation, visible: bool = True) -> None:
        super().__init__()
        self.evaluation = evaluation
        self._visible = visible
        self._told: float | None = None
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]:,.0f} steps/s"),
            TextColumn("score {task.fields[score]}"),
            TimeRemainingColumn(),
            disable=not visible,
        )

    def close(self) -> None:
        """Leave the terminal as it was, also after an error."""
        self._bar.stop()

    def _on_training_start(self) -> None:
        self._begun, self._first = time.monotonic(), self.num_timesteps
        total = self.model._total_timesteps
        self._task = self._bar.add_task("", total=total, speed=0.0, score="-")
        self._bar.start()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        speed = (self.num_timesteps - self._first) / (time.monotonic() - self._begun)
        mean = self.evaluation.mean
        score = "-" if mean is None else f"{mean:.1f}"
        self._bar.update(self._task, completed=self.num_timesteps, speed=speed, score=score)
        if mean != self._told and self._visible and not self._bar.console.is_terminal:
            self._told = mean
            done = f"{self.num_timesteps:,} of {self.model._total_timesteps:,} steps"
            self._bar.console.print(f"{done}, {speed:,.0f} steps/s, score {score}")

    def _on_training_end(self) -> None:
        self._on_rollout_end()
