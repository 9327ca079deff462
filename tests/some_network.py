"""A small network for the tests of players and of their export, and positions to try it on."""

import numpy as np

from yahtzee_env import get_ruleset, observation_names
from yahtzee_env.game import Games
from yahtzee_env.policies import NetworkPolicy
from yahtzee_env.policies.network import Layer


def some_network(ruleset="yahtzee", width=16, activation="silu", seed=0, skips=False):
    """A network with random weights and one hidden layer."""
    rules, rng = get_ruleset(ruleset), np.random.default_rng(seed)
    inputs, actions = len(observation_names(rules)), Games(rules, 0).n_actions

    def array(*shape):
        return rng.normal(size=shape).astype(np.float32)

    layers = (
        Layer("linear", (array(inputs, width), array(width))),
        Layer("layer_norm", (array(width), array(width))),
        Layer(activation),
        Layer("linear", (array(width, actions), array(actions))),
    )
    skip = array(inputs, actions) if skips else None
    return NetworkPolicy("some", rules, layers, skip, {"seed": seed})


def positions(ruleset, n=500, seed=1):
    """Positions of random games, some of every turn."""
    games, rng = Games(get_ruleset(ruleset), n), np.random.default_rng(seed)
    games.seed(rng)
    games.start()
    for step in range(60):
        some = games.select(rng.random(n) < step / 60)
        some.play(some.random_actions(rng))
        yield games
        actions = games.random_actions(rng)
        games.play(actions)
        games = games.select(~games.over)
        n = len(games)
