"""How good is a policy: scores, luck-adjusted scores, regret, exact values, comparisons."""

from yahtzee_env.evaluation.comparison import Comparison, Difference, compare, seed_summary
from yahtzee_env.evaluation.exact import PolicyValue, policy_value
from yahtzee_env.evaluation.measure import evaluate
from yahtzee_env.evaluation.result import Evaluation
from yahtzee_env.evaluation.tables import evaluation_table, summary_table

__all__ = [
    "Comparison",
    "Difference",
    "Evaluation",
    "PolicyValue",
    "compare",
    "evaluate",
    "evaluation_table",
    "policy_value",
    "seed_summary",
    "summary_table",
]
