"""The Gymnasium environments: thin shells around `yahtzee_env.game`."""

from yahtzee_env.envs.single import YahtzeeEnv
from yahtzee_env.envs.vector import YahtzeeVectorEnv

__all__ = ["YahtzeeEnv", "YahtzeeVectorEnv"]
