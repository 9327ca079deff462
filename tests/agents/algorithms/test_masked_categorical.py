import pytest
import torch
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution

from agents.algorithms.masked_categorical import MaskedCategorical

N, ACTIONS = 10_000, 44


def some_masks(generator):
    """Random masks with at least one legal action."""
    masks = torch.rand(N, ACTIONS, generator=generator) < 0.2
    masks[torch.arange(N), torch.randint(ACTIONS, (N,), generator=generator)] = True
    return masks


def masked(kind, logits, masks):
    distribution = kind(ACTIONS).proba_distribution(logits)
    distribution.apply_masking(masks)
    return distribution


@pytest.mark.parametrize("kind", [MaskedCategorical, MaskableCategoricalDistribution])
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_an_illegal_action_has_probability_0_whatever_the_logits(kind, scale):
    generator = torch.Generator().manual_seed(1)
    logits = (torch.rand(N, ACTIONS, generator=generator) * 2 - 1) * scale
    masks = some_masks(generator)
    distribution = masked(kind, logits, masks)
    assert distribution.distribution.probs[~masks].max() == 0
    for actions in (distribution.sample(), distribution.mode()):
        assert masks[torch.arange(N), actions].all()
    assert torch.isfinite(distribution.entropy()).all()


def test_values_and_gradients_are_those_of_sb3_contrib():
    generator = torch.Generator().manual_seed(2)
    start = torch.randn(N, ACTIONS, generator=generator)
    masks = some_masks(generator)
    found = []
    for kind in (MaskedCategorical, MaskableCategoricalDistribution):
        logits = start.clone().requires_grad_()
        distribution = masked(kind, logits, masks)
        actions = distribution.mode()
        log_prob, entropy = distribution.log_prob(actions), distribution.entropy()
        (log_prob.sum() + entropy.square().sum()).backward()
        found.append((actions, log_prob, entropy, logits.grad))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_without_masks_every_action_is_legal():
    distribution = MaskedCategorical(2).proba_distribution(torch.zeros(1, 2))
    distribution.apply_masking(None)
    assert distribution.log_probs.exp().tolist() == [[0.5, 0.5]]


def test_samples_follow_the_probabilities():
    torch.manual_seed(3)
    logits = torch.log(torch.tensor([[0.1, 0.2, 0.7]])).repeat(30_000, 1)
    counts = torch.bincount(MaskedCategorical(3).proba_distribution(logits).sample())
    assert counts / 30_000 == pytest.approx([0.1, 0.2, 0.7], abs=0.012)


def test_weights_that_are_no_numbers_are_noticed():
    distribution = MaskedCategorical(2).proba_distribution(torch.full((1, 2), torch.nan))
    with pytest.raises(RuntimeError, match="nan"):
        distribution.sample()
