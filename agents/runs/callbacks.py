"""Training callbacks, run between updates."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import HParam

from agents.algorithms import Algorithm
from agents.runs.folder import BEST, EVALUATIONS, write_weights
from agents.runs.history import History
from agents.runs.stop import CLOSED_PIPE, Stopped, StopRequest
from yahtzee_env import evaluate
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv
from yahtzee_env.evaluation import Evaluation, measurements
from yahtzee_env.policies import ModelPolicy


class BetweenUpdates(BaseCallback):
    """Calls `_between_updates` after each update, before the next rollout begins."""

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self._between_updates()

    def _between_updates(self) -> None:
        raise NotImplementedError


class Diverged(ValueError):
    """The learner's weights are no longer finite."""


class DivergenceCheck(BetweenUpdates):
    """Raises `Diverged` before such weights are evaluated, saved or used to play.

    The square of a weight must be finite, too, or the outputs would not be.
    """

    def _between_updates(self) -> None:
        if not all(weight.square().sum().isfinite() for weight in self.model.policy.parameters()):
            raise Diverged("the training diverged: a lower learning rate may help")

    def _on_training_end(self) -> None:
        self._between_updates()


class GreedyEvaluation(BetweenUpdates):
    """Plays greedy games at intervals and at the end of training.

    Logs them under `eval/`, keeps them in the history and in a CSV file of the run folder, and
    saves the model there whenever its luck-adjusted score is the best so far. The algorithm's own
    diagnostics are kept with them, and logged under its name.

    Args:
        algorithm: the algorithm of the model.
        every: environment steps between two evaluations.
        games: games of an evaluation.
        seed: the seed of the games.
        history: where the results go.
        folder: the run folder.
    """

    def __init__(
        self,
        algorithm: Algorithm[Any],
        every: int,
        games: int,
        seed: int,
        history: History,
        folder: Path,
    ) -> None:
        super().__init__()
        self.algorithm = algorithm
        self.every, self.games, self.seed = every, games, seed
        self.history, self.folder = history, folder

    def _between_updates(self) -> None:
        if self.num_timesteps // self.every > self.history.last_evaluated // self.every:
            self._evaluate()

    def _on_training_end(self) -> None:
        if self.num_timesteps > self.history.last_evaluated:
            self._evaluate()

    def _evaluate(self) -> None:
        history, begun = self.history, time.monotonic()
        result = evaluate(
            ModelPolicy(self.model, use_masks=self._env.masks),
            self._env.ruleset,
            games=self.games,
            seed=self.seed,
            on_illegal="random",  # which masks never need
        )
        diagnosed = self.algorithm.diagnose(self.model, self.seed)
        history.evaluating += time.monotonic() - begun
        history.evaluations.append(self._row(result) | diagnosed)
        history.write(self.folder / EVALUATIONS)
        if history.best is history.evaluations[-1]:
            weights = self.model.policy.state_dict()
            history.best_weights = {name: tensor.clone() for name, tensor in weights.items()}
            write_weights(self.folder / BEST, self.model.save)
        for key, value in measurements(result).items():
            self.logger.record(f"eval/{key}", value)
        for key, value in diagnosed.items():
            self.logger.record(f"{self.algorithm.name}/{key}", value)
        self.logger.record("rollout/illegal_share", history.evaluations[-1]["illegal_share"])
        self.logger.record("time/evaluation_share", history.evaluating / history.seconds)
        self.logger.dump(self.num_timesteps)

    @property
    def _env(self) -> YahtzeeSB3VecEnv:
        env = self.training_env
        assert isinstance(env, YahtzeeSB3VecEnv)
        return env

    def _row(self, result: Evaluation) -> dict[str, float]:
        return {
            "timesteps": self.num_timesteps,
            "games": self._env.finished_games,
            "seconds": round(self.history.seconds, 1),
            **measurements(result),
            "illegal_share": self._env.illegal_actions / self.num_timesteps,
        }


class HyperParameters(BaseCallback):
    """Records the configuration with its score, for TensorBoard's table of runs."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        self.settings = settings

    def _on_training_start(self) -> None:
        self.logger.record("hparams", HParam(dict(self.settings), {"eval/luck_adjusted_mean": 0}))

    def _on_step(self) -> bool:
        return True


class Checkpoints(BetweenUpdates):
    """Saves everything needed to resume the run, at intervals, at a stop and at the end.

    Args:
        save: writes the checkpoint.
        every: environment steps between two checkpoints.
        stop: raises `Stopped`, after saving, once this asks for it.
    """

    def __init__(self, save: Callable[[], None], every: int, stop: StopRequest) -> None:
        super().__init__()
        self.save, self.every, self.stop = save, every, stop

    def _on_training_start(self) -> None:
        self._saved = self.num_timesteps

    def _between_updates(self) -> None:
        stop = self.stop.signal
        if stop or self.num_timesteps // self.every > self._saved // self.every:
            self._saved = self.num_timesteps
            self.save()
        if stop:
            raise Stopped(stop)

    def _on_training_end(self) -> None:
        self.save()
        if self.stop.signal:
            raise Stopped(self.stop.signal)


class ProgressBar(BetweenUpdates):
    """Shows steps, speed and the score of the last evaluation; to be closed after training.

    Where the output is not a terminal it prints a line after each evaluation instead. Where nobody
    reads the output any more it asks for a stop.
    """

    def __init__(self, history: History, stop: StopRequest) -> None:
        super().__init__()
        self.history, self.stop = history, stop
        self._shown = history.last_evaluated
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]:,.0f} steps/s"),
            TextColumn("score {task.fields[score]}"),
            TimeRemainingColumn(),
            disable=not sys.stdout.isatty(),
        )

    def close(self) -> None:
        """Leave the terminal as it was, also after an error."""
        with self._output():
            self._bar.stop()

    def _on_training_start(self) -> None:
        self._begun, self._first = time.monotonic(), self.num_timesteps
        total = self.model._total_timesteps
        self._task = self._bar.add_task("", total=total, speed=0.0, score="-")
        with self._output():
            self._bar.start()

    def _between_updates(self) -> None:
        speed = (self.num_timesteps - self._first) / (time.monotonic() - self._begun)
        rows = self.history.evaluations
        score = f"{rows[-1]['luck_adjusted_mean']:.2f}" if rows else "-"
        with self._output():
            self._bar.update(self._task, completed=self.num_timesteps, speed=speed, score=score)
            if self._bar.disable and self.history.last_evaluated != self._shown:
                self._shown = self.history.last_evaluated
                done = f"{self.num_timesteps:,} of {self.model._total_timesteps:,} steps"
                print(f"{done}, {speed:,.0f} steps/s, score {score}", flush=True)

    def _on_training_end(self) -> None:
        self._between_updates()

    @contextmanager
    def _output(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self.stop.ask(CLOSED_PIPE)
