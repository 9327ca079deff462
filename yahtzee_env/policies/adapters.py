"""Other people's players as policies: plain functions and stable-baselines3 models."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.game import Positions


class FunctionPolicy:
    """A function of (observations, masks): float32 (n, features) and int8 (n, actions).

    It returns n actions. Deterministic functions may be given to `policy_value`.
    """

    def __init__(
        self,
        function: Callable[[NDArray[np.float32], NDArray[np.int8]], Any],
        name: str = "function",
        deterministic: bool = True,
    ) -> None:
        self.function = function
        self.name = name
        self.deterministic = deterministic

    def act(self, positions: Positions, rng: np.random.Generator) -> NDArray[np.int64]:
        """(n,) int64: what the function returned."""
        return _as_actions(self.function(*positions.observe()), len(positions))


class ModelPolicy:
    """A stable-baselines3 or sb3-contrib model, trained on the flat observation.

    A model whose `predict` takes `action_masks` gets them; one that does not may choose illegal
    actions (see `evaluate(on_illegal=...)`).

    Raises:
        ValueError: for a model of other observations.
    """

    def __init__(self, model: Any, name: str = "model", deterministic: bool = True) -> None:
        space = getattr(model, "observation_space", None)
        if space is not None and getattr(space, "shape", None) is None:
            raise ValueError(f"{name} must be trained on the flat observation, not on {space}")
        self.model = model
        self.name = name
        self.deterministic = deterministic
        self._takes_masks = "action_masks" in inspect.signature(model.predict).parameters

    def act(self, positions: Positions, rng: np.random.Generator) -> NDArray[np.int64]:
        """(n,) int64: the model's choices."""
        observations, masks = positions.observe()
        extra = {"action_masks": masks.astype(bool)} if self._takes_masks else {}
        actions, _ = self.model.predict(observations, deterministic=self.deterministic, **extra)
        return _as_actions(actions, len(positions))


def load_sb3_model(path: Path, trust: bool) -> ModelPolicy:
    """The policy in a file that stable-baselines3 or sb3-contrib wrote, of any algorithm.

    Raises:
        ValueError: without trust, as loading runs whatever code the file holds; or for a file of
            another kind, or of an agent for other observations.
        ImportError: without stable-baselines3, or if the policy's own class cannot be imported.
    """
    if not trust:
        raise ValueError(
            f"{path} may be a stable-baselines3 model, which can run any code when loaded: "
            "trust=True (--trust in the commands) loads it"
        )
    from stable_baselines3.common.save_util import load_from_zip_file

    data, parameters, _ = load_from_zip_file(path, device="cpu")
    if not data or "policy_class" not in data or "policy" not in parameters:
        raise ValueError(f"{path} is no stable-baselines3 model")
    spaces = data["observation_space"], data["action_space"]
    policy = data["policy_class"](*spaces, lambda _: 0.0, **data["policy_kwargs"])
    policy.load_state_dict(parameters["policy"])
    policy.set_training_mode(False)
    return ModelPolicy(policy, path.stem)


def _as_actions(actions: Any, n: int) -> NDArray[np.int64]:
    chosen: NDArray[Any] = np.asarray(actions)
    if chosen.shape != (n,) or chosen.dtype.kind not in "iu":
        raise ValueError(
            f"a policy must return {n} whole numbers, one a game, "
            f"not {chosen.dtype} of shape {chosen.shape}"
        )
    return chosen.astype(np.int64)
