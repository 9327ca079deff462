"""A run of seconds, for the tests."""

import hashlib

from agents.algorithms.dqn import DQNConfig
from agents.algorithms.ppo import PPOConfig
from agents.algorithms.qrdqn import QRDQNConfig
from agents.config import EvaluationConfig, TrainConfig
from agents.networks import NetworkConfig

SMALL = TrainConfig(
    name="small",
    threads=1,
    total_timesteps=2048,
    checkpoint_every=1024,
    n_envs=16,
    network=NetworkConfig(widths=[32]),
    ppo=PPOConfig(
        n_steps=32, batch_size=128, learning_rate=6e-4, value_learning_rate=1e-3, redraws=0
    ),
    dqn=DQNConfig(buffer_size=1024, learning_starts=128, batch_size=64, redraws=0),
    qrdqn=QRDQNConfig(buffer_size=1024, learning_starts=128, batch_size=64, redraws=0, quantiles=8),
    evaluation=EvaluationConfig(every=1024, games=20, final_games=20),
)


def fingerprint(model):
    """A hash of the weights and of the optimiser's moments."""
    digest = hashlib.sha256()
    tensors = list(model.policy.state_dict().values())
    for moments in model.policy.optimizer.state_dict()["state"].values():
        tensors += moments.values()
    for tensor in tensors:
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
