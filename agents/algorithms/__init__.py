"""The learning algorithms, one file each; to add one, add its value to `ALGORITHMS`."""

from typing import Any

from agents.algorithms import a2c, dqn, ppo, qrdqn
from agents.algorithms.base import Algorithm, Model, Shared

ALGORITHMS: dict[str, Algorithm[Any]] = {
    algorithm.name: algorithm
    for algorithm in (ppo.ALGORITHM, dqn.ALGORITHM, qrdqn.ALGORITHM, a2c.ALGORITHM)
}
"""Every algorithm by its name in a configuration."""

__all__ = ["ALGORITHMS", "Algorithm", "Model", "Shared"]
