"""How good is a policy: scores, luck-adjusted scores, regret, exact values, comparisons."""

from yahtzee_env.evaluation.measure import evaluate
from yahtzee_env.evaluation.result import Evaluation

__all__ = ["Evaluation", "evaluate"]
