"""Exact solutions by dynamic programming, on the engine's own tables."""

from yahtzee_env.solver.distribution import Distribution
from yahtzee_env.solver.exponential import Exponential, ExponentialSolution
from yahtzee_env.solver.objective_solution import ObjectiveSolution
from yahtzee_env.solver.objectives import AtLeast, Beat, CVaR, Objective, Utility
from yahtzee_env.solver.solution import Solution, solve

__all__ = [
    "AtLeast",
    "Beat",
    "CVaR",
    "Distribution",
    "Exponential",
    "ExponentialSolution",
    "Objective",
    "ObjectiveSolution",
    "Solution",
    "Utility",
    "solve",
]
