"""What can be set in an experiment: typed, with a default and a check for every key."""

from __future__ import annotations

import argparse
import math
import re
from argparse import ArgumentError
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

import yaml
from jsonargparse import ArgumentParser
from jsonargparse.typing import (
    ClosedUnitInterval,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)

from agents.algorithms import ALGORITHMS, Algorithm, Shared
from agents.algorithms.dqn import DQNConfig
from agents.algorithms.ppo import PPOConfig, Several
from agents.algorithms.qrdqn import QRDQNConfig
from agents.networks import NetworkConfig
from agents.runs.folder import CONFIG
from yahtzee_env.family import RULESETS
from yahtzee_env.observation import observation_names

RulesetName = Literal[*RULESETS]
MOST_THREADS = 256
LARGEST = 10**12
"""Whole numbers above it overflow somewhere, and are of no use."""


@dataclass(frozen=True)
class EvaluationConfig:
    """Greedy games, apart from the training games, that tell how good the agent is.

    Attributes:
        every: environment steps between two evaluations during training
        games: games of an evaluation during training
        final_games: games of each player in the table at the end
    """

    every: PositiveInt = 500_000
    games: Several = 1000
    final_games: Several = 10_000


@dataclass(frozen=True)
class TrainConfig:
    """An experiment.

    Attributes:
        name: names the run folder
        algorithm: the learning algorithm; only its own group below counts
        ruleset: the rules
        seed: decides training games, evaluation games and first weights
        threads: processor threads; null for all cores, at most 4
        total_timesteps: environment steps of the whole training
        checkpoint_every: environment steps between two checkpoints
        n_envs: games side by side
        points_per_reward: the learner's rewards are points over this
        masks: tell the learner what is legal; otherwise an illegal action costs it a point
        network: see NetworkConfig
        ppo: see PPOConfig
        dqn: see DQNConfig
        qrdqn: see QRDQNConfig
        evaluation: see EvaluationConfig

    Raises:
        ValueError: for values that do not fit together.
    """

    name: str = "ppo"
    algorithm: Literal[*ALGORITHMS] = "ppo"
    ruleset: RulesetName = "yahtzee"
    seed: NonNegativeInt = 1
    threads: PositiveInt | None = None
    total_timesteps: PositiveInt = 5_000_000
    checkpoint_every: PositiveInt = 500_000
    n_envs: PositiveInt = 512
    points_per_reward: PositiveFloat = 30.0
    masks: bool = True
    network: NetworkConfig = field(default_factory=NetworkConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    dqn: DQNConfig = field(default_factory=DQNConfig)
    qrdqn: QRDQNConfig = field(default_factory=QRDQNConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"[\w.-]+", self.name):
            raise ValueError(f"name must be letters, digits and any of _.-, not {self.name!r}")
        if self.threads is not None and self.threads > MOST_THREADS:
            raise ValueError(f"threads must be null or 1 to {MOST_THREADS}, not {self.threads}")
        for prefix, group in _groups(self):
            for item in fields(group):
                value = _plain(getattr(group, item.name))
                if value is None and item.name != "threads":
                    raise ValueError(f"{prefix}{item.name} must not be null")
                numbers = value if isinstance(value, list) else [value]
                if any(isinstance(number, int) and number > LARGEST for number in numbers):
                    raise ValueError(f"{prefix}{item.name} must be at most {LARGEST}")
                if isinstance(value, float) and not math.isfinite(value):
                    raise ValueError(f"{prefix}{item.name} must be a finite number, not {value}")
                object.__setattr__(group, item.name, value)
        if not self.network.widths:
            raise ValueError("network.widths must name the width of at least one layer")
        names = observation_names(self.ruleset)
        for beginning in self.network.hidden_features:
            if not beginning or not any(name.startswith(beginning) for name in names):
                raise ValueError(f"network.hidden_features: no feature begins with {beginning!r}")
        shared = Shared(self.n_envs, self.total_timesteps, self.masks)
        self.learner.check(self.settings, shared)

    @property
    def learner(self) -> Algorithm[Any]:
        """The algorithm."""
        return ALGORITHMS[self.algorithm]

    @property
    def settings(self) -> Any:
        """The settings of the algorithm."""
        return getattr(self, self.algorithm)

    @property
    def rollout_steps(self) -> int:
        """Environment steps between two updates."""
        return self.n_envs * self.learner.rollout_length(self.settings)

    @property
    def whole_timesteps(self) -> int:
        """Environment steps of the run: `total_timesteps` and what completes the last rollout."""
        return -(-self.total_timesteps // self.rollout_steps) * self.rollout_steps

    def to_yaml(self) -> str:
        """The experiment with every key, as `--config` reads it."""
        return yaml.safe_dump(asdict(self), sort_keys=False)

    def flat(self) -> dict[str, str | int | float]:
        """Every key that counts, dotted, with its value: a number, or anything else as text."""
        values: dict[str, str | int | float] = {}

        def collect(group: dict[str, Any], prefix: str) -> None:
            for name, value in group.items():
                if isinstance(value, dict):
                    collect(value, f"{prefix}{name}.")
                else:
                    values[prefix + name] = value if isinstance(value, int | float) else str(value)

        others = ALGORITHMS.keys() - {self.algorithm}
        collect({name: value for name, value in asdict(self).items() if name not in others}, "")
        return values


@dataclass(frozen=True)
class Options:
    """What to do with the run folder; no part of the experiment.

    Attributes:
        run_dir: the run folder; null for a new one in runs/ under the experiment's name
        force: overwrite the run that the folder holds
        resume: go on with the run that the folder holds
    """

    run_dir: Path | None = None
    force: bool = False
    resume: bool = False


def parse(arguments: Sequence[str]) -> tuple[TrainConfig, Options]:
    """The experiment and options of a command line such as ``--config FILE --seed 2``.

    ``--resume RUN`` stands alone: the experiment is that of the run folder.

    Raises:
        ValueError: in one sentence that names the key and what is allowed.
    """
    options, others = _options(arguments)
    if options.resume is None:
        return _experiment(others), Options(options.run_dir, options.force)
    if others or options.run_dir or options.force:
        raise ValueError("--resume takes the folder of a run and no other argument beside it")
    return _of_run(options.resume), Options(options.resume, resume=True)


def _options(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options, and the arguments left; a parser of their own keeps them out of config files."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--run-dir", type=Path)
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--resume", type=Path)
    try:
        return parser.parse_known_args(list(arguments))
    except ArgumentError as error:
        raise ValueError(str(error)) from None


def _experiment(arguments: Sequence[str]) -> TrainConfig:
    parser = ArgumentParser(
        prog="python -m agents.train",
        exit_on_error=False,
        epilog="Beside the experiment: --run-dir DIR names the run folder, --force overwrites the "
        "run in it; --resume RUN, alone, goes on with the run in a folder.",
    )
    parser.add_argument("--config", action="config", help="YAML file of an experiment")
    parser.add_class_arguments(TrainConfig)
    try:
        config = parser.instantiate(parser.parse_args(list(arguments)))
        return TrainConfig(**{item.name: config[item.name] for item in fields(TrainConfig)})
    except (ArgumentError, TypeError) as error:
        raise ValueError(explain(str(error))) from None


def _of_run(folder: Path) -> TrainConfig:
    path = folder / CONFIG
    if not path.is_file():
        raise ValueError(f"there is no run to resume in {folder}: it has no {CONFIG}")
    try:
        return _experiment(["--config", str(path)])
    except ValueError as error:
        raise ValueError(f"{path} is no configuration: {error}") from None


_ALLOWED = {
    PositiveInt: "a whole number above 0",
    Several: "a whole number, 2 or more",
    NonNegativeInt: "a whole number, 0 or more",
    bool: "true or false",
    PositiveFloat: "a number above 0",
    NonNegativeFloat: "a number, 0 or more",
    ClosedUnitInterval: "a number from 0 to 1",
    str: "a text",
    type(None): "null",
}

_GIVEN = {
    r".*(?:Got value|Given value|base 10|to float): ?'?(.*?)'?": "{}",
    r".*: (\S+) (?:does not|not an?) .*": "{}",
    r".* real number, not '(.+)'": "a {}",
    r'.*Unable to load config "(.*)"': "{}",
}
"""Where a message of the parser holds the value, the last one where it has several, or its type."""


def explain(message: str) -> str:
    """One sentence for a message of the parser: the key, and what is allowed there."""
    text = " ".join(message.split())
    keys = _keys(TrainConfig)
    if missing := re.search(r"File does not exist: '(.+)'", text):
        return f"there is no config file {missing[1]!r}"
    if "Unexpected config" in text or "must be a mapping" in text:
        return f"a config file must map keys to values, and so must {', '.join(GROUPS)} in it"
    # A group that is given whole has the key in it after its own.
    if (bad := re.match(r'.*Parser key "([^"]+)"', text)) and bad[1] == "config":
        return f"--config must name a YAML file{_given(text)}"
    if bad:
        return f"{bad[1]} must be {_allowed(keys[bad[1]])}{_given(text)}"
    if unknown := re.match(r"Group '(.+)' does not accept option '(.+)'", text):
        return _unknown(f"{unknown[1]}.{unknown[2]}", keys)
    if unknown := re.match(r"Option '(.+)' is not accepted", text):
        return _unknown(unknown[1], keys)
    if unknown := re.match(r"unrecognized arguments: -*([^ =]+)", text):
        return _unknown(unknown[1], keys)
    return text


def _unknown(key: str, keys: dict[str, Any]) -> str:
    group = key.rpartition(".")[0]
    allowed = [name for name in keys if name.rpartition(".")[0] == group] or list(keys)
    return f"unknown key {key}; there are {', '.join(allowed)}"


def _given(text: str) -> str:
    for pattern, words in _GIVEN.items():
        if found := re.fullmatch(pattern, text):
            value = words.format(found[1]) or "''"
            return f", not {value}"
    return ""


def _keys(kind: type, prefix: str = "") -> dict[str, Any]:
    """Every key of a dataclass, dotted, with its type."""
    keys: dict[str, Any] = {}
    for name, hint in get_type_hints(kind).items():
        keys[prefix + name] = hint
        if is_dataclass(hint):
            keys |= _keys(hint, f"{prefix}{name}.")
    return keys


GROUPS = [key for key, hint in _keys(TrainConfig).items() if is_dataclass(hint)]


def _groups(config: TrainConfig) -> list[tuple[str, Any]]:
    """The experiment and its groups, with what goes before their keys."""
    return [("", config), *((f"{name}.", getattr(config, name)) for name in GROUPS)]


def _allowed(hint: Any) -> str:
    """A type in words."""
    if hint in _ALLOWED:
        return _ALLOWED[hint]
    if is_dataclass(hint):
        return f"a mapping with {', '.join(_keys(hint))}"
    parts = get_args(hint)
    if all(isinstance(part, str) for part in parts):
        return f"one of {', '.join(parts)}"
    if hint in (list[PositiveInt], list[str]):
        return "a list of texts" if hint == list[str] else "a list of whole numbers above 0"
    return " or ".join(map(_allowed, parts))


def _plain(value: Any) -> Any:
    """The value in plain Python types: the parser leaves subclasses of int and float."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return kind(value)
    return value
