"""Exact solutions by dynamic programming, on the engine's own tables."""

from yahtzee_env.solver.solution import Solution, solve

__all__ = ["Solution", "solve"]
