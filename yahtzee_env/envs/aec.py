"""Matches of several players in PettingZoo's AEC form.

The players move one after another and see each other's cards, so the form is AEC (agent
environment cycle), not parallel; PettingZoo's `turn_based_aec_to_parallel` converts it for
programs that accept nothing else.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from yahtzee_env.match import ROLL_OFF, Match
from yahtzee_env.match_observation import match_observation_bounds, observe_match
from yahtzee_env.rendering import MATCH_RENDERERS
from yahtzee_env.rules import Ruleset

try:
    from pettingzoo import AECEnv
    from pettingzoo.utils import wrappers
except ImportError as error:
    raise ImportError(
        'matches of several players need PettingZoo: pip install "yahtzee-env[players]"'
    ) from error

Reward = Literal["points", "outcome"]

ILLEGAL_REWARD = -1.0
"""What an illegal action costs the player who takes it."""


def env(**arguments: Any) -> AECEnv[str, NDArray[np.float32], int]:
    """A match with PettingZoo's usual checks around it; takes the arguments of `YahtzeeAECEnv`."""
    match = YahtzeeAECEnv(**arguments)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(match))


def parallel_env(**arguments: Any) -> None:
    """Not offered: the players take turns.

    Raises:
        TypeError: always, with what to use instead.
    """
    raise TypeError(
        "the players of a match move one after another, so there is no parallel_env: use env, "
        "in PettingZoo's AEC form"
    )


class YahtzeeAECEnv(AECEnv[str, NDArray[np.float32], int]):
    """A match of Yahtzee or one of its relatives, 1 to 10 players.

    ## Agents
    `player_0`, `player_1` and so on, by seat. The starter moves first, then play passes in seat
    order; a player moves until a box is filled.

    ## Action Space
    As in the single game: 0 to 30 keep dice and roll again, `31 + k` fills box k.
    `infos[agent]["action_mask"]` (int8) marks the legal actions of the player to move, and is all 0
    for the others. An illegal action ends the match: its player gets -1, the others 0.

    ## Observation Space
    `Box(float32)`: the flat features of the single game, the player's total, and for each opponent,
    whoever moves next first, the total, the upper total and the open boxes; see
    `yahtzee_env.match_observation`. Opponents' dice are not in it.

    ## Rewards
    With "points" each player gets the points that its actions gain: summed over `last()` they are
    its final score. With "outcome" all get 0 until the match is over, then 1 for a win, -1 for a
    loss and 0 for a tie; see `yahtzee_env.match.payoffs` for more than two players.

    ## Information
    `action_mask`; `score`, the own points so far; `illegal_action`, whether this player's illegal
    action ended the match; `roll_off`, the rounds of dice that decided who started.

    ## Arguments
    - `num_players`: 1 to 10, default 2.
    - `ruleset`: the name of a rule set, a `Ruleset`, or its dictionary. Default `"yahtzee"`.
    - `starter`: `"roll-off"` (default), or the seat that starts every match.
    - `reward`: `"points"` (default) or `"outcome"`.
    - `render_mode`: `None`, `"ansi"` (text) or `"rgb_array"` (picture; needs Pillow). Both show all
      cards and the dice of the player to move.

    Raises:
        ValueError: for an unknown value, with what is allowed.
    """

    metadata = {  # noqa: RUF012
        "name": "yahtzee_v0",
        "render_modes": list(MATCH_RENDERERS),
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        num_players: int = 2,
        ruleset: str | Ruleset | Mapping[str, Any] = "yahtzee",
        starter: int | str = ROLL_OFF,
        reward: Reward = "points",
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.match = Match(num_players, ruleset, starter)
        _check_choice("reward", reward, get_args(Reward))
        _check_choice("render_mode", render_mode, (None, *MATCH_RENDERERS))
        if reward == "outcome" and num_players == 1:
            raise ValueError('reward="outcome" needs at least two players, not 1')
        self.reward = reward
        self.render_mode = render_mode
        self.possible_agents = [f"player_{seat}" for seat in range(self.match.num_players)]
        self.agents: list[str] = []
        low, high = match_observation_bounds(self.match.ruleset, self.match.num_players)
        n_actions = self.match.games[0].n_actions
        self.observation_spaces = {
            agent: spaces.Box(low, high, dtype=np.float32) for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(n_actions) for agent in self.possible_agents}
        self._rng = np.random.default_rng()

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's observations, the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's actions, the same object at every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a match; without a seed the generator of the last match is used further."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self.match.start(self._rng)
        self.agents = self.possible_agents.copy()
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._select(self.match.first)
        self._write_infos()

    def step(self, action: int | None) -> None:
        """Carry out an action of the player to move; None for one whose match is over.

        Raises:
            ValueError: for a number outside the action space, or not None for a player whose match
                is over.
        """
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        code = self._code(action)
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        legal = bool(self.infos[agent]["action_mask"][code])
        if legal:
            self._play(agent, code)
        else:
            self.rewards[agent] = ILLEGAL_REWARD
        if not legal or self.match.over:
            self.terminations = dict.fromkeys(self.agents, True)
        self._accumulate_rewards()
        self._write_infos(illegal=None if legal else agent)

    def _code(self, action: Any) -> int:
        n_actions = self.match.games[0].n_actions
        if not hasattr(action, "__index__") or not 0 <= operator.index(action) < n_actions:
            raise ValueError(f"an action is a whole number from 0 to {n_actions - 1}, not {action}")
        return operator.index(action)

    def _play(self, agent: str, code: int) -> None:
        gained = self.match.play(code)
        if self.reward == "points":
            self.rewards[agent] = float(gained)
        elif self.match.over:
            earned = self.match.payoffs.tolist()
            self.rewards = dict(zip(self.possible_agents, earned, strict=True))
        self._select(self.match.first if self.match.seat is None else self.match.seat)

    def _select(self, seat: int) -> None:
        self.agent_selection = self.possible_agents[seat]

    def _write_infos(self, illegal: str | None = None) -> None:
        """New infos, with arrays that no two agents share."""
        self.infos: dict[str, dict[str, Any]] = {}
        for agent in self.agents:
            game = self.match.games[self.possible_agents.index(agent)]
            moves = agent == self.agent_selection and not self.terminations[agent]
            self.infos[agent] = {
                "action_mask": game.masks()[0] if moves else np.zeros(game.n_actions, np.int8),
                "score": np.int64(game.records["score"][0]),
                "illegal_action": agent == illegal,
                "roll_off": self.match.roll_off,
            }

    def observe(self, agent: str) -> NDArray[np.float32]:
        """What an agent sees now, float32; a new array at every call."""
        seat = self.possible_agents.index(agent)
        observation: NDArray[np.float32]
        (observation,), _ = observe_match(self.match.games[seat], self.match.opponents(seat)[None])
        return observation

    def render(self) -> Any:
        """All cards and the dice of the player to move, by `render_mode`; None without a mode."""
        if self.render_mode is None:
            return None
        return MATCH_RENDERERS[self.render_mode](self.match)

    def close(self) -> None:
        """Nothing needs closing."""


def _check_choice(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {allowed}, not {value!r}")
