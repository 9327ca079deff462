"""Plain functions and stable-baselines3 models as policies."""

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

    It returns n actions. It must not rely on earlier calls: the rows are the games still running,
    so their number and meaning change. Deterministic functions may be given to `policy_value`.
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
        return as_actions(self.function(*positions.observe()), len(positions))


class ModelPolicy:
    """A stable-baselines3 or sb3-contrib model, trained on the flat observation.

    Observations are normalised with the statistics that a model trained under `VecNormalize`
    carries with its environment. A zip file of a model has no statistics: load it with them,
    ``PPO.load(file, env=VecNormalize.load(statistics, env))``, and pass the model.

    Args:
        model: anything with the `predict` of stable-baselines3.
        name: what the policy is called in results.
        deterministic: whether it chooses the most likely action rather than a random one.
        use_masks: whether `predict` gets action masks if it takes them. A model without masks may
            choose illegal actions (see `evaluate(on_illegal=...)`).

    Raises:
        ValueError: for a model trained on other observations.
    """

    def __init__(
        self,
        model: Any,
        name: str = "model",
        deterministic: bool = True,
        use_masks: bool = True,
    ) -> None:
        space = getattr(model, "observation_space", None)
        if space is not None and getattr(space, "shape", None) is None:
            raise ValueError(f"{name} must be trained on the flat observation, not on {space}")
        self.model = model
        self.name = name
        self.deterministic = deterministic
        takes_masks = "action_masks" in inspect.signature(model.predict).parameters
        self._use_masks = use_masks and takes_masks

    def act(self, positions: Positions, rng: np.random.Generator) -> NDArray[np.int64]:
        """(n,) int64: the model's choices.

        Raises:
            ValueError: for a recurrent model, which has no choice for a position alone.
        """
        observations, masks = positions.observe()
        extra = {"action_masks": masks.astype(bool)} if self._use_masks else {}
        actions, state = self.model.predict(
            self._normalized(observations), deterministic=self.deterministic, **extra
        )
        if state is not None:
            raise ValueError(
                f"{self.name} is recurrent: its memory of earlier steps would be lost, since "
                "policies choose by the position alone"
            )
        return as_actions(actions, len(positions))

    def _normalized(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        find = getattr(self.model, "get_vec_normalize_env", None)
        environment = find() if find else None
        return environment.normalize_obs(observations) if environment else observations


def load_sb3_model(path: Path, trust: bool) -> ModelPolicy:
    """The policy in a zip file of stable-baselines3 or sb3-contrib, of any algorithm.

    Raises:
        ValueError: without trust, since loading runs any code in the file; for a file of another
            kind; or for an agent trained on other observations.
        ImportError: without stable-baselines3, with the extra that installs it, or if the policy's
            own class cannot be imported.
    """
    if not trust:
        raise ValueError(
            f"{path} may be a stable-baselines3 model, which can run any code when loaded: "
            "trust=True (--trust in the commands) loads it"
        )
    try:
        from stable_baselines3.common.save_util import load_from_zip_file
    except ImportError:
        raise ImportError(
            f'loading {path} needs stable-baselines3: pip install "yahtzee-env[learn]"'
        ) from None

    data, parameters, _ = load_from_zip_file(path, device="cpu")
    if not data or "policy_class" not in data or "policy" not in parameters:
        raise ValueError(f"{path} is not a stable-baselines3 model")
    spaces = data["observation_space"], data["action_space"]
    policy = data["policy_class"](*spaces, lambda _: 0.0, **data["policy_kwargs"])
    policy.load_state_dict(parameters["policy"])
    policy.set_training_mode(False)
    return ModelPolicy(policy, path.stem)


def as_actions(actions: Any, n: int) -> NDArray[np.int64]:
    """(n,) int64: what a policy returned for n games.

    Raises:
        ValueError: for anything but n whole numbers.
    """
    chosen: NDArray[Any] = np.asarray(actions)
    if chosen.shape != (n,) or chosen.dtype.kind not in "iu":
        raise ValueError(
            f"a policy must return {n} whole numbers, one per game, "
            f"not {chosen.dtype} of shape {chosen.shape}"
        )
    return chosen.astype(np.int64)
