"""The distribution of a masked action, computed once for each step."""

from __future__ import annotations

import torch
from sb3_contrib.common.maskable.distributions import (
    MaskableCategorical,
    MaskableCategoricalDistribution,
    MaybeMasks,
)

ILLEGAL = -1e8
"""The logit of an illegal action: so low that its probability is exactly 0."""


class MaskedCategorical(MaskableCategoricalDistribution):
    """sb3-contrib's distribution of one discrete action, in less than half the time.

    The original normalises and validates before and after masking, which took a tenth of the
    training time.
    """

    logits: torch.Tensor
    _log_probs: torch.Tensor | None = None

    def proba_distribution(self, action_logits: torch.Tensor) -> MaskedCategorical:
        """Start from (n, actions) float32 logits, with all actions legal."""
        self.logits, self._log_probs = action_logits.view(-1, self.action_dim), None
        return self

    def apply_masking(self, masks: MaybeMasks) -> None:
        """Give illegal actions, False in the (n, actions) masks, probability 0."""
        if masks is not None:
            legal = torch.as_tensor(masks, dtype=torch.bool, device=self.logits.device)
            self.logits = torch.where(legal.reshape(self.logits.shape), self.logits, ILLEGAL)
            self._log_probs = None

    @property
    def log_probs(self) -> torch.Tensor:
        """(n, actions) float32: the logarithm of each action's probability."""
        if self._log_probs is None:
            self._log_probs = torch.log_softmax(self.logits, dim=-1)
        return self._log_probs

    @property
    def distribution(self) -> MaskableCategorical:  # type: ignore[override]
        """The same distribution as a torch distribution."""
        return MaskableCategorical(logits=self.logits)

    def log_prob(self, actions: torch.Tensor) -> torch.Tensor:
        """(n,) float32: the logarithm of the probability of n actions."""
        return self.log_probs.gather(-1, actions.long().view(-1, 1)).squeeze(-1)

    def entropy(self) -> torch.Tensor:
        """(n,) float32: the entropy in nats."""
        return -(self.log_probs.exp() * self.log_probs).sum(-1)

    def sample(self) -> torch.Tensor:
        """(n,) int64: random actions; raises if a probability is not finite."""
        return torch.multinomial(self.log_probs.exp(), 1).squeeze(-1)

    def mode(self) -> torch.Tensor:
        """(n,) int64: the most probable actions."""
        return self.logits.argmax(dim=-1)
