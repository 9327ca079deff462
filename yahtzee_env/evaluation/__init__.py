"""How good is a policy: scores, luck-adjusted scores, regret, exact values, comparisons."""

from yahtzee_env.evaluation.comparison import Comparison, Difference, compare
from yahtzee_env.evaluation.duels import Duel, duel
from yahtzee_env.evaluation.exact import PolicyValue, policy_value
from yahtzee_env.evaluation.intervals import SampleMean
from yahtzee_env.evaluation.measure import evaluate
from yahtzee_env.evaluation.metrics import METRICS, Metric, measurements, metric_texts
from yahtzee_env.evaluation.result import Evaluation
from yahtzee_env.evaluation.tournaments import Tournament, tournament
from yahtzee_env.evaluation.value_function import PolicySolution, policy_solution

__all__ = [
    "METRICS",
    "Comparison",
    "Difference",
    "Duel",
    "Evaluation",
    "Metric",
    "PolicySolution",
    "PolicyValue",
    "SampleMean",
    "Tournament",
    "compare",
    "duel",
    "evaluate",
    "measurements",
    "metric_texts",
    "policy_solution",
    "policy_value",
    "tournament",
]
