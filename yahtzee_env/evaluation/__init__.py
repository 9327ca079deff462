"""How good is a policy: scores, luck-adjusted scores, regret, exact values, comparisons."""

from yahtzee_env.evaluation.comparison import Comparison, Difference, compare, seed_summary
from yahtzee_env.evaluation.exact import PolicyValue, policy_value
from yahtzee_env.evaluation.measure import evaluate
from yahtzee_env.evaluation.metrics import METRICS, Metric, measurements, metric_texts
from yahtzee_env.evaluation.result import Evaluation
from yahtzee_env.evaluation.tables import evaluation_table, summary_table

__all__ = [
    "METRICS",
    "Comparison",
    "Difference",
    "Evaluation",
    "Metric",
    "PolicyValue",
    "compare",
    "evaluate",
    "evaluation_table",
    "measurements",
    "metric_texts",
    "policy_value",
    "seed_summary",
    "summary_table",
]
