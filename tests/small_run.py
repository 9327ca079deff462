"""A training run of seconds, for the tests."""

import hashlib

from agents.config import make_config

VALUES = {
    "name": "small",
    "threads": 1,
    "total_timesteps": 2048,
    "checkpoint_every": 1024,
    "n_envs": 16,
    "network": {"widths": [32]},
    "evaluation": {"every": 1024, "games": 20, "final_games": 20},
    "ppo": {
        "n_steps": 32,
        "batch_size": 128,
        "learning_rate": 6e-4,
        "value_learning_rate": 1e-3,
        "redraws": 0,
    },
    "dqn": {"buffer_size": 1024, "learning_starts": 128, "batch_size": 64, "redraws": 0},
    "qrdqn": {
        "buffer_size": 1024,
        "learning_starts": 128,
        "batch_size": 64,
        "redraws": 0,
        "quantiles": 8,
    },
    "a2c": {"n_steps": 32, "redraws": 0},
}


def small(**changes):
    """The small run with some keys changed, such as `seed=2, dqn={"redraws": 2}`."""
    merged = {
        key: {**VALUES.get(key, {}), **value} if isinstance(value, dict) else value
        for key, value in changes.items()
    }
    return make_config(VALUES | merged)


SMALL = small()


def fingerprint(model):
    """A hash of the weights and of the optimizer's moments."""
    digest = hashlib.sha256()
    tensors = list(model.policy.state_dict().values())
    for moments in model.policy.optimizer.state_dict()["state"].values():
        tensors += moments.values()
    for tensor in tensors:
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
