"""The configuration of a training run: keys of every run, and a group of each algorithm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    InstanceOf,
    PlainSerializer,
    WithJsonSchema,
    create_model,
    model_validator,
)

from agents.algorithms import ALGORITHMS, Algorithm, Shared
from agents.algorithms.networks import NetworkSettings, check_hidden_features
from agents.settings import (
    AtLeastTwo,
    Integral,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Settings,
    validated,
)
from yahtzee_env.family import RULESETS, get_ruleset
from yahtzee_env.rules import Ruleset


def _check_name(name: str) -> str:
    if not re.fullmatch(r"[\w.-]+", name):
        raise ValueError(f"must be letters, digits and any of _.-, not {name!r}")
    return name


def _to_ruleset(value: Any) -> Ruleset:
    try:
        return get_ruleset(value)
    except (OSError, TypeError) as error:
        raise ValueError(str(error)) from None


def _plain_ruleset(ruleset: Ruleset) -> str | dict[str, Any]:
    """The name of a rule set of the family, the content of any other."""
    return ruleset.name if RULESETS.get(ruleset.name) == ruleset else ruleset.to_dict()


AnyRuleset = Annotated[
    InstanceOf[Ruleset],
    BeforeValidator(_to_ruleset),
    PlainSerializer(_plain_ruleset),
    WithJsonSchema({"type": "string"}),
]


class EvaluationSettings(Settings):
    """Greedy games, separate from the training games, that measure the agent."""

    every: PositiveInt = 500_000
    """Environment steps between two evaluations during training."""
    games: AtLeastTwo = 1000
    """Games of an evaluation during training."""
    final_games: AtLeastTwo = 10_000
    """Games of each player in the table at the end."""


class TrainConfig(Settings):
    """The keys of every run; `make_config` adds the group of each algorithm.

    Raises:
        pydantic.ValidationError: for values that do not fit together.
    """

    algorithm: Literal[*ALGORITHMS] = "ppo"  # type: ignore[valid-type]
    """The learning algorithm; only its own group of settings counts."""
    name: Annotated[str, AfterValidator(_check_name)] = Field(
        default_factory=lambda values: values["algorithm"]
    )
    """Name of the run folder; the algorithm's name if not given."""
    ruleset: AnyRuleset = Field(default="yahtzee", validate_default=True)
    """The rules: a name, or a JSON file of `Ruleset.to_dict`."""
    seed: NonNegativeInt = 1
    """Determines training games, evaluation games and first weights."""
    threads: Annotated[int, Field(ge=1, le=256), Integral] | None = None
    """Processor threads; null for all cores, at most 4."""
    total_timesteps: PositiveInt = 5_000_000
    """Environment steps of the whole training."""
    checkpoint_every: PositiveInt = 500_000
    """Environment steps between two checkpoints."""
    n_envs: PositiveInt = 512
    """Games played in parallel."""
    points_per_reward: PositiveFloat = 30.0
    """Rewards in training are points divided by this."""
    masks: bool = True
    """Tell the agent which actions are legal; if false, an illegal action costs it a point."""
    network: NetworkSettings = NetworkSettings()
    evaluation: EvaluationSettings = EvaluationSettings()

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_hidden_features(self.network, self.ruleset)
        shared = Shared(self.n_envs, self.total_timesteps, self.masks)
        self.learner.check(self.settings, shared)
        return self

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
        """Environment steps of the run: `total_timesteps`, up to the end of the last rollout."""
        return -(-self.total_timesteps // self.rollout_steps) * self.rollout_steps

    def plain(self) -> dict[str, Any]:
        """Every key that counts, as `make_config` takes it: the other algorithms are left out."""
        return self.model_dump(mode="json", exclude=ALGORITHMS.keys() - {self.algorithm})

    def flat(self) -> dict[str, str | int | float]:
        """Every key that counts, dotted, with its value: a number, or anything else as text."""
        values: dict[str, str | int | float] = {}

        def collect(group: Mapping[str, Any], prefix: str) -> None:
            for name, value in group.items():
                if isinstance(value, dict):
                    collect(value, f"{prefix}{name}.")
                else:
                    values[prefix + name] = value if isinstance(value, int | float) else str(value)

        collect(self.plain(), "")
        return values

    def to_yaml(self) -> str:
        """The content of a file for `--config`."""
        return yaml.safe_dump(self.plain(), sort_keys=False)


_GROUPS: dict[str, Any] = {
    name: (algorithm.settings, algorithm.settings()) for name, algorithm in ALGORITHMS.items()
}
FULL_CONFIG = create_model("FullConfig", __base__=TrainConfig, **_GROUPS)
"""`TrainConfig` with the groups of all algorithms."""


def make_config(values: Mapping[str, Any]) -> TrainConfig:
    """The configuration with these values, and defaults for the others.

    Raises:
        ValueError: in one sentence that names the key, what was given and what is allowed.
    """
    return validated(FULL_CONFIG, values)
