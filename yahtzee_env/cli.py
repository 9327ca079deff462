"""The commands of the package: arguments in, a report out, as text or JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np

import yahtzee_env
from yahtzee_env.evaluation import PolicyValue, compare, evaluate, policy_value, tournament
from yahtzee_env.family import RULESETS, get_ruleset
from yahtzee_env.game import Positions, State, check_state
from yahtzee_env.kernels import REROLLS
from yahtzee_env.policies import AGENTS, MATCH_POLICIES, POLICIES, Policy, load_policy
from yahtzee_env.policies.stochastic import check_probabilities_known
from yahtzee_env.report.layout import Table
from yahtzee_env.report.terminal import (
    Part,
    comparison_view,
    evaluation_view,
    show,
    tournament_view,
)
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver import solve

Value = TypeVar("Value")


@dataclass(frozen=True)
class Report:
    """The result of a command: as data for JSON, and as parts of a text."""

    data: dict[str, Any]
    parts: Sequence[Part]


def run(arguments: Sequence[str]) -> None:
    """Run a command and print its report.

    Raises:
        SystemExit: for wrong arguments, with status 2, after one sentence on stderr.
    """
    options = _parser().parse_args(arguments)
    report: Report = options.command(options)
    if options.json:
        print(json.dumps(report.data, indent=2))
    else:
        show(report.parts)


# The arguments.


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="yahtzee-env", description="Exact optimal play in the Yahtzee family of dice games."
    )
    version = f"%(prog)s {yahtzee_env.__version__}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(
        required=True, metavar="solve | advise | evaluate | tournament"
    )

    def add(name: str, command: Callable[[Any], Report], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        sub.set_defaults(command=command, error=sub.error)
        sub.add_argument("--json", action="store_true", help="print JSON and nothing else")
        sub.add_argument(
            "--ruleset",
            type=_checked(get_ruleset),
            default="yahtzee",
            metavar="NAME",
            help=f"{', '.join(RULESETS)}, or a JSON file (default: %(default)s)",
        )
        return sub

    sub = add("solve", _solve, "the expected score of perfect play")
    sub.add_argument(
        "--no-cache", action="store_true", help="solve again even if the solution is cached"
    )

    sub.add_argument(
        "--distribution",
        action="store_true",
        help="also the distribution of the score: some ten seconds and 600 MB of memory",
    )

    sub = add("advise", _advise, "the best actions in a position, and what the others cost")
    sub.add_argument("--dice", type=int, nargs="+", required=True, metavar="DIE", help="five dice")
    sub.add_argument(
        "--rolls-left", type=int, default=REROLLS, metavar="N", help="0, 1 or 2 (default: 2)"
    )
    sub.add_argument(
        "--filled",
        type=_checked(_box_and_points),
        nargs="+",
        action="extend",
        default=[],
        metavar="BOX=POINTS",
        help="the filled boxes, such as chance=22; all others are open",
    )
    sub.add_argument(
        "--extra-bonuses",
        type=int,
        default=0,
        metavar="N",
        help="how many extra bonuses for five of a kind were paid (default: 0)",
    )
    sub.add_argument(
        "--top", type=_whole(1), default=10, metavar="N", help="how many actions (default: 10)"
    )

    sub = add("evaluate", _evaluate, "how far policies are from perfect play, and which is better")
    sub.add_argument(
        "policies",
        nargs="+",
        metavar="POLICY",
        help=f"{', '.join([*POLICIES, *AGENTS])}, an agent's file, a run folder, or best play for "
        "another objective: optimal:at-least-POINTS, optimal:cvar-LEVEL (a minute or more to "
        "solve), optimal:exponential-AVERSION",
    )
    sub.add_argument(
        "--trust",
        action="store_true",
        help="load stable-baselines3 files, which can run any code; exported agents need no trust",
    )
    sub.add_argument("--games", type=_whole(2), default=1000, metavar="N", help="(default: 1000)")
    sub.add_argument("--seed", type=_whole(0), default=0, metavar="N", help="(default: 0)")
    sub.add_argument(
        "--exact",
        action="store_true",
        help="also compute exact expected scores: about a minute per heuristic, twenty minutes "
        "per network",
    )
    sub.add_argument(
        "--distribution",
        action="store_true",
        help="also the exact distribution of each policy's score; takes as long as --exact",
    )

    sub = add("tournament", _tournament, "which policies win matches against each other")
    sub.add_argument(
        "policies",
        nargs="+",
        metavar="POLICY",
        help=f"{', '.join([*POLICIES, *MATCH_POLICIES, *AGENTS])}, an agent's file, or a folder",
    )
    sub.add_argument(
        "--trust", action="store_true", help="load stable-baselines3 files, which can run any code"
    )
    sub.add_argument(
        "--games",
        type=_whole(4),
        default=1000,
        metavar="N",
        help="matches at each table, a multiple of the players at it (default: 1000)",
    )
    sub.add_argument("--seed", type=_whole(0), default=0, metavar="N", help="(default: 0)")
    sub.add_argument(
        "--table", type=_whole(2), default=2, metavar="N", help="players at a table (default: 2)"
    )
    sub.add_argument(
        "--workers",
        type=_whole(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes, which do not change the result (default: %(default)s)",
    )
    return parser


def _checked(convert: Callable[[str], Value]) -> Callable[[str], Value]:
    """A converter whose error message reaches the user."""

    def checked(text: str) -> Value:
        try:
            return convert(text)
        except (ValueError, OSError) as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


def _whole(least: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return whole


def _box_and_points(text: str) -> tuple[str, int]:
    box, _, points = text.partition("=")
    if not points.isdecimal():
        raise ValueError(f"{text!r} is not of the form BOX=POINTS, such as chance=22")
    return box, int(points)


# The commands.


def _solve(options: Any) -> Report:
    began = time.perf_counter()
    solution = solve(options.ruleset, cache=not options.no_cache)
    seconds = time.perf_counter() - began
    data = {
        "ruleset": solution.ruleset.name,
        "start_value": solution.start_value,
        "standard_deviation": solution.standard_deviation,
        "reachable_cards": solution.reachable_cards,
        "reachable_share": solution.reachable_share,
        "seconds": seconds,
    }
    rows = [
        ("expected score", f"{solution.start_value:.6f}"),
        ("standard deviation of a game", f"{solution.standard_deviation:.3f}"),
        ("reachable cards", f"{solution.reachable_cards:,} ({solution.reachable_share:.1%})"),
        ("seconds to solve or to load", f"{seconds:.2f}"),
    ]
    if options.distribution:
        figures = solution.start_distribution.to_dict()
        data["distribution"] = figures
        rows += _distribution_rows(figures)
    return Report(data, [Table(f"Perfect play of {solution.ruleset.name}", ("", ""), rows)])


def _distribution_rows(figures: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        *((f"{float(q):.0%} quantile", str(value)) for q, value in figures["quantiles"].items()),
        *((f"mean of the worst {float(a):.0%}", f"{x:.2f}") for a, x in figures["cvar"].items()),
        *((f"P(score >= {points})", f"{p:.4f}") for points, p in figures["at_least"].items()),
    ]


def _advise(options: Any) -> Report:
    ruleset: Ruleset = options.ruleset
    state = _state(options)
    position = Positions.of(ruleset, state)
    values = solve(ruleset).action_values(position)[0]
    score = int(position.records["score"][0])
    legal = np.flatnonzero(~np.isnan(values))
    order = legal[np.argsort(-values[legal], kind="stable")][: options.top].tolist()
    best = values[order[0]]
    actions = [
        {
            "action": action,
            "description": position.describe(action),
            "value": float(values[action]),
            "expected_total": float(score + values[action]),
            "cost": float(best - values[action]),
        }
        for action in order
    ]
    data = {
        "ruleset": ruleset.name,
        "dice": list(state.dice),
        "rolls_left": state.rolls_left,
        "card": dict(state.card),
        "extra_bonuses": state.extra_bonuses,
        "score": score,
        "actions": actions,
    }
    dice = "-".join(map(str, sorted(state.dice)))
    rows = [
        (one["description"], *(f"{one[key]:.3f}" for key in ("value", "expected_total", "cost")))
        for one in actions
    ]
    title = f"{dice}, {state.rolls_left} rolls left, {score} points so far"
    columns = ("action", "points to come", "final total", "cost")
    return Report(data, [Table(title, columns, rows, essential=4)])


def _state(options: Any) -> State:
    """The position that the arguments describe; exits with a message if it is impossible."""
    card = dict(options.filled)
    if len(card) < len(options.filled):
        options.error("a box can be filled only once")
    state = State(tuple(options.dice), options.rolls_left, card, options.extra_bonuses)
    try:
        check_state(options.ruleset, state)
    except ValueError as error:
        options.error(str(error))
    if len(card) == len(options.ruleset.boxes):
        options.error("the card is full: nothing is left to decide")
    return state


def _evaluate(options: Any) -> Report:
    try:
        policies = [load_policy(name, options.trust) for name in options.policies]
        wanted = options.exact or options.distribution
        exact = _exact_values(options, policies) if wanted else []
        report = _measured(policies, (options.ruleset, options.games, options.seed))
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        options.error(str(error))
    except MemoryError:
        options.error(f"{options.games:,} games do not fit in memory; try fewer")
    if not exact:
        return report
    sentences = [
        f"{value.policy} on {value.ruleset}: exact expected score {value.mean:.4f}, "
        f"standard deviation of a game {value.std:.3f}."
        for value in exact
    ]
    tables = [
        Table(
            f"Distribution of the score of {value.policy}",
            ("", ""),
            _distribution_rows(value.distribution.to_dict()),
        )
        for value in exact
        if value.distribution is not None
    ]
    data = {**report.data, "exact": [value.to_dict() for value in exact]}
    return Report(data, [*report.parts, *sentences, *tables])


def _measured(policies: Sequence[Policy], size: tuple[Ruleset, int, int]) -> Report:
    if len(policies) == 1:
        result = evaluate(policies[0], *size)
        return Report(result.to_dict(), evaluation_view(result))
    comparison = compare(policies, *size)
    return Report(comparison.to_dict(), comparison_view(comparison))


def _exact_values(options: Any, policies: Sequence[Policy]) -> list[PolicyValue]:
    for policy in policies:
        check_probabilities_known(policy)
    return [
        policy_value(
            policy,
            options.ruleset,
            _progress(f"exact value of {policy.name}"),
            options.distribution,
        )
        for policy in policies
    ]


def _progress(name: str) -> Callable[[float], None] | None:
    """Shows the share done to a person who waits."""
    if not sys.stderr.isatty():
        return None

    def show_share(share: float) -> None:
        end = "\n" if share >= 1 else ""
        print(f"\r{name}: {share:.0%}", end=end, file=sys.stderr, flush=True)

    return show_share


def _tournament(options: Any) -> Report:
    try:
        policies = [load_policy(name, options.trust) for name in options.policies]
        size = options.ruleset, options.games, options.seed, options.table
        progress = _progress("tournament")
        if options.workers == 1:
            result = tournament(policies, *size, progress=progress)
        else:
            with ProcessPoolExecutor(options.workers) as pool:
                result = tournament(policies, *size, executor=pool, progress=progress)
    except (ValueError, OSError, ImportError) as error:
        options.error(str(error))
    return Report(result.to_dict(), tournament_view(result))
