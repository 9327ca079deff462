"""Functions and models as policies."""

import sys

import numpy as np
import pytest
from gymnasium import spaces
from helpers import N_HOLDS, first_legal, random_choices, started

from yahtzee_env import evaluate, load_policy
from yahtzee_env.policies import FunctionPolicy, ModelPolicy

RNG = np.random.default_rng(0)


class Model:
    """A model with the interface of sb3-contrib, which takes the first legal action."""

    def predict(
        self, observation, state=None, episode_start=None, deterministic=False, action_masks=None
    ):
        assert observation.dtype == np.float32
        assert action_masks.dtype == bool
        assert deterministic
        return first_legal(observation, action_masks), None


class BlindModel:
    """A model with the interface of stable-baselines3, without masks."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return np.full(len(observation), N_HOLDS), None


def test_functions_and_models_get_observations_and_masks():
    games = started("yahtzee", 50, seed=3)
    expected = games.masks().argmax(axis=1)
    for policy in (FunctionPolicy(first_legal), ModelPolicy(Model())):
        np.testing.assert_array_equal(policy.act(games, RNG), expected)
    assert (ModelPolicy(BlindModel()).act(games, RNG) == N_HOLDS).all()


@pytest.mark.parametrize(
    "actions",
    [lambda n: np.zeros(n), lambda n: np.zeros(n + 1, int), lambda n: 3, lambda n: None],
)
def test_other_return_values_are_refused(actions):
    policy = FunctionPolicy(lambda observations, masks: actions(len(masks)))
    with pytest.raises(ValueError, match="must return 5 whole numbers, one per game"):
        policy.act(started("yahtzee", 5, seed=3), RNG)


def test_lists_and_small_integers_are_actions():
    games = started("yahtzee", 5, seed=3)
    for convert in (np.ndarray.tolist, np.int8, np.uint16):
        policy = FunctionPolicy(lambda o, m, convert=convert: convert(random_choices(m, RNG)))
        assert policy.act(games, RNG).dtype == np.int64


def test_models_of_other_observations_are_refused():
    class Model:
        observation_space = spaces.Dict({"dice": spaces.Discrete(6)})

        def predict(self, observations, deterministic=True):
            raise AssertionError("never asked")

    with pytest.raises(ValueError, match="flat observation"):
        ModelPolicy(Model())


def test_a_model_need_not_use_its_masks():
    class Both(Model):
        def predict(self, observation, deterministic=False, action_masks=None):
            assert action_masks is None
            return np.full(len(observation), N_HOLDS), None

    policy = ModelPolicy(Both(), use_masks=False)
    assert (policy.act(started("yahtzee", 5, seed=3), RNG) == N_HOLDS).all()


def test_a_model_trained_under_vec_normalize_gets_normalised_observations():
    contrib = pytest.importorskip("sb3_contrib")
    from stable_baselines3.common.vec_env import VecNormalize

    from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv

    normalize = VecNormalize(YahtzeeSB3VecEnv("yahtzee", 8))
    options = {"n_steps": 8, "batch_size": 64, "seed": 1, "device": "cpu"}
    model = contrib.MaskablePPO("MlpPolicy", normalize, **options)
    model.learn(64)
    positions = started("yahtzee", 50, seed=3)
    observations, masks = positions.observe()
    seen = np.clip(
        (observations - normalize.obs_rms.mean) / np.sqrt(normalize.obs_rms.var + 1e-8), -10, 10
    )
    expected, unnormalised = (
        model.predict(inputs, action_masks=masks, deterministic=True)[0]
        for inputs in (seen.astype(np.float32), observations)
    )
    assert (ModelPolicy(model).act(positions, RNG) == expected).all()
    assert (unnormalised != expected).any()


def test_recurrent_models_are_refused():
    contrib = pytest.importorskip("sb3_contrib")
    from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv

    model = contrib.RecurrentPPO("MlpLstmPolicy", YahtzeeSB3VecEnv("yahtzee", 2), device="cpu")
    with pytest.raises(ValueError, match="RecurrentPPO is recurrent"):
        evaluate(model, games=2, on_illegal="random")


def test_a_zip_file_needs_stable_baselines3(tmp_path, monkeypatch):
    path = tmp_path / "agent.zip"
    path.touch()
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.save_util", None)
    with pytest.raises(ImportError, match=r'needs stable-baselines3: pip install "yahtzee-env'):
        load_policy(path, trust=True)
