"""The single-game environment."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from yahtzee_env.envs.settings import (
    MAX_ILLEGAL,
    IllegalAction,
    MaskDtype,
    ObservationKind,
    Settings,
    env_ruleset,
    row,
)
from yahtzee_env.game import Games, State, check_start
from yahtzee_env.rendering import RENDERERS
from yahtzee_env.rules import Ruleset


class YahtzeeEnv(gym.Env[Any, Any]):
    """Yahtzee and its relatives: five dice, three rolls a turn, one box filled a turn.

    ## Description
    A turn begins with a roll of all five dice, made by the environment. Up to twice the player
    keeps some dice and rolls the others again; then one open box of the score card is filled with
    the roll. The game ends when the card is full.

    ## Action Space
    `Discrete(31 + boxes)`, 44 actions for the official rules.

    | action | meaning |
    |---|---|
    | 0 to 30 | roll again: bit i set KEEPS die i of the dice sorted ascending (0 rolls all five) |
    | 31 + k | fill box k |

    Of the hold codes that keep the same faces only the smallest is legal, and no code keeps all
    five dice. `info["action_mask"]` (int8) has 1 for each legal action, after `reset` and every
    `step`; `action_masks()` is the same as bool. It is all 0 only when the game is over.
    `hold_action([2, 2])` and `box_action("chance")` return the code of an action, and
    `describe(action)` describes a code in words.

    ## Observation Space
    `Box(float32)`, 70 features for the official rules: see `yahtzee_env.observation` and
    `yahtzee_env.observation_names(ruleset)`. With `observation="dict"` a `Dict` of `dice` (five
    faces, ascending), `rolls_left` (0 to 2) and `card` (points of each box, -1 while open).
    Both contain everything that matters for the rest of the game.

    With `mask_key`, the observation is a `Dict` of that observation, under `observation_key`, and
    the action mask, under `mask_key`, as these libraries expect it:

    | library | arguments |
    |---|---|
    | RLlib | `mask_key="action_mask", observation_key="observations"` |
    | Tianshou | `mask_key="mask", observation_key="obs", mask_dtype="bool"` |
    | PettingZoo | `mask_key="action_mask"` |

    ## Rewards
    The points that an action gains, bonuses included: the undiscounted return is the final score.

    ## Starting State
    An empty card and a first roll. `reset(options={"state": State(...)})` starts anywhere.

    ## Episode End
    Terminated when the card is full: after 13 to 39 actions in the official rules. Truncated after
    100 illegal actions.

    ## Information
    `reset` and `step` return the same keys:
    - `action_mask`: (actions,) int8, 1 for each legal action.
    - `score`: `np.int64`, the points so far.
    - `illegal_action`: () bool array, whether the action of this step was illegal.

    ## Arguments
    - `ruleset`: the name of a rule set, the path of its JSON file, a `Ruleset`, or its dictionary.
      Default `"yahtzee"`.
    - `observation`: `"flat"` (default) or `"dict"`.
    - `mask_key`: the key of the action mask in the observation; `None` (default) for none.
    - `observation_key`: the key of everything else, if there is a `mask_key`. Default
      `"observation"`.
    - `mask_dtype`: `"int8"` (default) or `"bool"`, of the mask in the observation.
    - `illegal_action`: what an illegal action does. `"ignore"` (default): nothing changes, reward
      0; `"penalty"`: nothing changes, reward `illegal_reward`; `"raise"`: a `ValueError` says why.
    - `illegal_reward`: default -1.
    - `render_mode`: `None`, `"ansi"` (text) or `"rgb_array"` (picture; needs Pillow).

    ```python
    >>> import gymnasium as gym, yahtzee_env
    >>> env = gym.make("Yahtzee-v0", ruleset="yahtzee", illegal_action="raise")
    >>> observation, info = env.reset(seed=1)
    >>> action = env.action_space.sample(mask=info["action_mask"])

    ```

    ## Version History
    * v0: initial version
    """

    metadata = {"render_modes": list(RENDERERS), "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        ruleset: str | Ruleset | Mapping[str, Any] = "yahtzee",
        observation: ObservationKind = "flat",
        mask_key: str | None = None,
        observation_key: str = "observation",
        mask_dtype: MaskDtype = "int8",
        illegal_action: IllegalAction = "ignore",
        illegal_reward: float = -1.0,
        render_mode: str | None = None,
    ) -> None:
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
        self.ruleset = self._settings.ruleset
        self.render_mode = render_mode
        self.action_space = self._settings.action_space()
        self.observation_space = self._settings.observation_space()
        self._games = Games(self.ruleset, 1)
        self._seeded = False
        self._ended = True
        # Passed to every step; making new arrays would take a noticeable part of its time.
        self._action = np.zeros(1, np.int64)
        self._restart = np.zeros(1, bool)
        self._illegal_actions = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a game; `options={"state": State(...)}` begins it there.

        Raises:
            ValueError: if the state cannot occur, or is a finished game.
        """
        state = (options or {}).get("state")
        if state is not None:
            check_start(self.ruleset, state)
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self._games.seed(self.np_random)
            self._seeded = True
        self._games.start()
        self._illegal_actions = 0
        self._ended = False
        if state is not None:
            self._games.set_state(state)
        return self._observe(np.zeros(1, bool))

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Carry out one action.

        Raises:
            ResetNeeded: before the first `reset` and after the end of the episode.
            ValueError: for a number outside the action space; for an illegal action with
                `illegal_action="raise"`. Nothing has changed then.
        """
        self._action[0] = self._code(action)
        games = self._games
        if self._settings.illegal_action == "raise":
            games.check_legal(self._action)
        gained, illegal, over = games.step(self._action, self._restart)
        reward, terminated = gained.item(), over.item()
        if illegal.item():
            self._illegal_actions += 1
            reward = self._settings.reward_when_illegal
        truncated = self._illegal_actions >= MAX_ILLEGAL
        self._ended = terminated or truncated
        observation, info = self._observe(illegal)
        return observation, reward, terminated, truncated, info

    def _code(self, action: int) -> int:
        if self._ended:
            raise ResetNeeded("call reset before step: no episode is running")
        try:
            code = operator.index(action)
        except TypeError:
            raise ValueError(f"an action is a whole number, not {action!r}") from None
        if not 0 <= code < self._games.n_actions:
            raise ValueError(f"an action is 0 to {self._games.n_actions - 1}, not {code}")
        return code

    def _observe(self, illegal: NDArray[np.bool_]) -> tuple[Any, dict[str, Any]]:
        observations, masks = self._settings.observe(self._games)
        score = np.int64(self._games.records["score"].item())
        # As a NumPy bool instead of an array, it would make vector infos arrays of objects.
        was_illegal = illegal.squeeze()
        info = {"action_mask": masks[0], "score": score, "illegal_action": was_illegal}
        return row(observations, 0), info

    def render(self) -> Any:
        """The score card and dice as text or picture, by `render_mode`; None without a mode."""
        if self.render_mode is None:
            return None
        return RENDERERS[self.render_mode](self._games, 0)

    def action_masks(self) -> NDArray[np.bool_]:
        """(actions,) bool: the legal actions, as sb3-contrib expects them."""
        masks: NDArray[np.bool_] = self._games.masks()[0].astype(bool)
        return masks

    @property
    def state(self) -> State:
        """The current position."""
        return self._games.state()

    def set_state(self, state: State) -> None:
        """Continue from a position, with the dice generator of this environment.

        Raises:
            ValueError: if the state cannot occur under the rules.
            ResetNeeded: before the first `reset`.
        """
        if not self._seeded:
            raise ResetNeeded("call reset before set_state")
        self._games.set_state(state)
        self._illegal_actions = 0
        self._ended = bool(self._games.over[0])

    def hold_action(self, keep: Sequence[int]) -> int:
        """The action that keeps these faces of the current dice and rolls the others again.

        Raises:
            ValueError: if the dice do not show these faces.
        """
        return self._games.hold_action(keep)

    def box_action(self, box: str) -> int:
        """The action that fills a box.

        Raises:
            ValueError: for an unknown box.
        """
        return self._games.box_action(box)

    def describe(self, action: int) -> str:
        """What an action does with the current dice, in words.

        Raises:
            ValueError: for a number outside the action space.
        """
        return self._games.describe(int(action))
