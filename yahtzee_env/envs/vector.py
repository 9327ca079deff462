"""The native vector environment: all games in one array, stepped by one kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from yahtzee_env.envs.settings import (
    MAX_ILLEGAL,
    IllegalAction,
    MaskDtype,
    ObservationKind,
    Settings,
    env_ruleset,
    row,
)
from yahtzee_env.game import Games, State, check_start, check_state
from yahtzee_env.rendering import RENDERERS
from yahtzee_env.rules import Ruleset


class YahtzeeVectorEnv(VectorEnv[Any, Any, NDArray[Any]]):
    """Many games of `YahtzeeEnv` in parallel; game i is the single game with seed `seed + i`.

    Created by `gym.make_vec("Yahtzee-v0", num_envs=N)`. Spaces, rewards, arguments and infos are
    those of `YahtzeeEnv`, batched as by `gymnasium.vector.SyncVectorEnv`: `info["action_mask"]` is
    one (N, actions) int8 array, `info["score"]` (N,) int64, `info["illegal_action"]` (N,) bool.

    ## Arguments
    - `num_envs`: the number of games.
    - `autoreset_mode`: `NEXT_STEP` (default): the step after the end of a game ignores its action
      and begins the next game with reward 0; `SAME_STEP`: the step that ends a game begins the
      next, and `info["final_obs"]` and `info["final_info"]` describe its end.
    - all other arguments as for `YahtzeeEnv`.

    ## Reset options
    - `state`: one `State` for all games, or a sequence of one for each.
    - `reset_mask`: (N,) bool, the games to reset; the others stay as they are.

    ```python
    >>> import gymnasium as gym, yahtzee_env
    >>> envs = gym.make_vec("Yahtzee-v0", num_envs=3, ruleset="yahtzee-free-joker")
    >>> observations, infos = envs.reset(seed=1)
    >>> infos["action_mask"].shape
    (3, 44)

    ```
    """

    metadata = {"render_modes": list(RENDERERS), "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        ruleset: str | Ruleset | Mapping[str, Any] = "yahtzee",
        observation: ObservationKind = "flat",
        mask_key: str | None = None,
        observation_key: str = "observation",
        mask_dtype: MaskDtype = "int8",
        illegal_action: IllegalAction = "ignore",
        illegal_reward: float = -1.0,
        render_mode: str | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, not {num_envs}")
        self.autoreset_mode = _checked_mode(autoreset_mode)
        self._settings = Settings(
            env_ruleset(ruleset, type(self).__name__),
            observation,
            mask_key,
            observation_key,
            mask_dtype,
            illegal_action,
            illegal_reward,
            render_mode,
        )
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self.ruleset = self._settings.ruleset
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.single_action_space = self._settings.action_space()
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.single_observation_space = self._settings.observation_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._games = Games(self.ruleset, num_envs)
        self._illegal_actions = np.zeros(num_envs, np.int64)
        self._running = False
        self._ended = np.zeros(num_envs, bool)
        self._unseeded = np.ones(num_envs, bool)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Begin every game, or those of `options["reset_mask"]`.

        Raises:
            ValueError: for a wrong number of seeds or states, a wrong mask, or a state that
                cannot occur or is a finished game; then nothing has changed.
        """
        options = options or {}
        chosen = self._chosen(options.get("reset_mask"))
        states = self._start_states(options.get("state"))
        self._seed(seed, chosen)
        self._start(chosen, states)
        self._ended[chosen] = False
        self._running = True
        observations, infos = self._observe(self._games, np.zeros(self.num_envs, bool))
        if not chosen.all():
            for values in infos.values():
                values[~chosen] = 0
        return observations, _with_presence(infos, chosen)

    def step(
        self, actions: ArrayLike
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Carry out one action in every game.

        Raises:
            ResetNeeded: before the first `reset`.
            ValueError: for actions of a wrong shape or outside the action space; for an illegal
                action with `illegal_action="raise"`. Nothing has changed then.
        """
        codes = self._codes(actions)
        if self._settings.illegal_action == "raise":
            self._games.check_legal(codes, self._ended)
        rewards, illegal, terminated = self._games.step(codes, self._ended)
        self._illegal_actions[self._ended] = 0
        if np.count_nonzero(illegal):
            rewards[illegal] = self._settings.reward_when_illegal
            self._illegal_actions += illegal
        truncated = self._illegal_actions >= MAX_ILLEGAL
        ended = terminated | truncated
        final: dict[str, Any] = {}
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            self._ended = ended
        else:
            self._ended = np.zeros(self.num_envs, bool)
            if ended.any():
                final = self._final(ended, illegal)
                self._start(ended, None)
                illegal &= ~ended
        observations, infos = self._observe(self._games, illegal)
        infos = _with_presence(infos, np.ones(self.num_envs, bool))
        return observations, rewards, terminated, truncated, infos | final

    def render(self) -> tuple[Any, ...] | None:
        """A text or picture of each game, by `render_mode`; None without a mode."""
        if self.render_mode is None:
            return None
        return tuple(RENDERERS[self.render_mode](self._games, i) for i in range(self.num_envs))

    def action_masks(self) -> NDArray[np.bool_]:
        """(N, actions) bool: the legal actions of every game."""
        return self._games.masks().astype(bool)

    def random_actions(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """(N,) int64: a uniformly random legal action of every game."""
        return self._games.random_actions(rng)

    @property
    def state(self) -> tuple[State, ...]:
        """The position of every game."""
        return tuple(self._games.state(i) for i in range(self.num_envs))

    def set_state(self, states: Sequence[State]) -> None:
        """Put every game into a position, with the dice generators of this environment.

        Raises:
            ValueError: if a state cannot occur, or their number is wrong; nothing has changed then.
            ResetNeeded: before the first `reset`.
        """
        if not self._running:
            raise ResetNeeded("call reset before set_state")
        if len(states) != self.num_envs:
            raise ValueError(f"need {self.num_envs} states, one a game, not {len(states)}")
        for state in states:
            check_state(self.ruleset, state)
        for i, state in enumerate(states):
            self._games.set_state(state, i)
        self._illegal_actions[:] = 0
        self._ended = self._games.over

    def _codes(self, actions: ArrayLike) -> NDArray[np.int64]:
        if not self._running:
            raise ResetNeeded("call reset before step")
        codes = np.asarray(actions)
        if codes.shape != (self.num_envs,) or codes.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be {self.num_envs} whole numbers, one a game, "
                f"not {codes.dtype} of shape {codes.shape}"
            )
        return codes.astype(np.int64, copy=False)

    def _chosen(self, mask: Any) -> NDArray[np.bool_]:
        if mask is None:
            return np.ones(self.num_envs, bool)
        chosen = np.asarray(mask)
        if chosen.shape != (self.num_envs,) or chosen.dtype != bool or not chosen.any():
            raise ValueError(f"reset_mask must be {self.num_envs} bools, at least one of them True")
        if not self._running and not chosen.all():
            raise ResetNeeded("the first reset must begin every game")
        return chosen

    def _start_states(self, state: State | Sequence[State] | None) -> Sequence[State] | None:
        if state is None:
            return None
        states = [state] * self.num_envs if isinstance(state, State) else list(state)
        if len(states) != self.num_envs:
            raise ValueError(f"need {self.num_envs} states, one a game, not {len(states)}")
        for one in states:
            check_start(self.ruleset, one)
        return states

    def _seed(self, seed: int | Sequence[int | None] | None, chosen: NDArray[np.bool_]) -> None:
        seeds: list[int | None]
        if isinstance(seed, Sequence | np.ndarray):
            seeds = list(seed)
        else:
            super().reset(seed=seed)
            seeds = [None if seed is None else seed + i for i in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ValueError(f"need {self.num_envs} seeds, one a game, not {len(seeds)}")
        generators = {
            i: self.np_random if seeds[i] is None else seeding.np_random(seeds[i])[0]
            for i in np.flatnonzero(chosen).tolist()
            if seeds[i] is not None or self._unseeded[i]
        }
        for i, generator in generators.items():
            self._games.seed(generator, i)
            self._unseeded[i] = False

    def _start(self, chosen: NDArray[np.bool_], states: Sequence[State] | None) -> None:
        begun = self._games.select(chosen)
        begun.start()
        self._games.records[chosen], self._games.rngs[chosen] = begun.records, begun.rngs
        self._illegal_actions[chosen] = 0
        if states is not None:
            for i in np.flatnonzero(chosen).tolist():
                self._games.set_state(states[i], i)

    def _observe(
        self, games: Games, illegal: NDArray[np.bool_]
    ) -> tuple[Any, dict[str, NDArray[Any]]]:
        observations, masks = self._settings.observe(games)
        score = games.records["score"].astype(np.int64)
        return observations, {"action_mask": masks, "score": score, "illegal_action": illegal}

    def _final(self, ended: NDArray[np.bool_], illegal: NDArray[np.bool_]) -> dict[str, Any]:
        """The last observations and infos of the games that ended, as `SyncVectorEnv` has them."""
        last, last_infos = self._observe(self._games.select(ended), illegal[ended])
        final_obs = np.full(self.num_envs, None, object)
        for k, i in enumerate(np.flatnonzero(ended)):
            final_obs[i] = row(last, k)
        final_info: dict[str, Any] = {}
        for name, values in last_infos.items():
            final_info[name] = np.zeros((self.num_envs, *values.shape[1:]), values.dtype)
            final_info[name][ended] = values
        final_info = _with_presence(final_info, ended)
        return _with_presence({"final_obs": final_obs, "final_info": final_info}, ended)


def _checked_mode(mode: str | AutoresetMode) -> AutoresetMode:
    for allowed in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        if mode in (allowed, allowed.value, allowed.name):
            return allowed
    raise ValueError(f"autoreset_mode must be NEXT_STEP or SAME_STEP, not {mode!r}")


def _with_presence(infos: dict[str, Any], present: NDArray[np.bool_]) -> dict[str, Any]:
    """Vector infos as in Gymnasium: for each key, `_key` says which games it applies to."""
    return infos | {f"_{name}": present for name in infos}
