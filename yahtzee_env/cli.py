"""What the commands do: arguments in, a report out, as a table, sentences or JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from yahtzee_env.bench import measure_speed
from yahtzee_env.evaluation import PolicyValue, compare, evaluate, policy_value
from yahtzee_env.evaluation.tables import INSTALL, plain_table, rich_table
from yahtzee_env.family import RULESETS, get_ruleset
from yahtzee_env.game import Positions, State, check_state
from yahtzee_env.kernels import REROLLS
from yahtzee_env.policies import AGENTS, POLICIES, Policy, load_policy
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver import solve

if TYPE_CHECKING:
    from rich.console import RenderableType

PIPE_WIDTH = 100
"""Columns of a table that does not go to a terminal."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Report:
    """The result of a command, in the three forms that it can be printed in."""

    data: dict[str, Any]
    sentences: Sequence[str]
    tables: Callable[[], Sequence[RenderableType]]


def run(arguments: Sequence[str]) -> None:
    """Carry out a command and print its report.

    Raises:
        SystemExit: for wrong arguments, with status 2, after one sentence on stderr.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    report: Report = options.command(options)
    if options.json:
        print(json.dumps(report.data, indent=2))
    elif _has_rich():
        _print_tables(report)
    else:
        print("\n".join(report.sentences))
        print(f"for tables: {INSTALL}", file=sys.stderr)


# The arguments.


class _Parser(argparse.ArgumentParser):
    """Tells what is wrong in one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="yahtzee-env", description="Exact optimal play in the Yahtzee family of dice games."
    )
    commands = parser.add_subparsers(required=True, metavar="solve | advise | evaluate | bench")

    def add(name: str, command: Callable[[Any], Report], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        sub.set_defaults(command=command, error=sub.error)
        sub.add_argument("--json", action="store_true", help="print JSON and nothing else")
        if command is not _bench:
            sub.add_argument(
                "--ruleset",
                type=_checked(get_ruleset),
                default="yahtzee",
                metavar="NAME",
                help=f"one of {', '.join(RULESETS)} (default: %(default)s)",
            )
        return sub

    sub = add("solve", _solve, "the expected score of perfect play")
    sub.add_argument("--no-cache", action="store_true", help="compute it, even where it is kept")

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
        help="the boxes filled so far, such as chance=22; the others are open",
    )
    sub.add_argument(
        "--extra-bonuses",
        type=int,
        default=0,
        metavar="N",
        help="how often the extra bonus for five alike was paid (default: 0)",
    )
    sub.add_argument(
        "--top", type=_whole(1), default=10, metavar="N", help="how many actions (default: 10)"
    )

    sub = add("evaluate", _evaluate, "how far from perfect policies play, and which is better")
    sub.add_argument(
        "policies",
        nargs="+",
        metavar="POLICY",
        help=f"{', '.join([*POLICIES, *AGENTS])}, or the file of an agent",
    )
    sub.add_argument(
        "--trust",
        action="store_true",
        help="load stable-baselines3 files, which may run any code; exported agents need no trust",
    )
    sub.add_argument("--games", type=_whole(2), default=1000, metavar="N", help="(default: 1000)")
    sub.add_argument("--seed", type=_whole(0), default=0, metavar="N", help="(default: 0)")
    sub.add_argument(
        "--exact",
        action="store_true",
        help="also the exact expected score: a minute a hand-made policy, half an hour a network",
    )

    add("bench", _bench, "how fast the solver and the environments are here")
    return parser


def _checked(convert: Callable[[str], Value]) -> Callable[[str], Value]:
    """A converter whose own message reaches the user."""

    def checked(text: str) -> Value:
        try:
            return convert(text)
        except (ValueError, OSError) as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


def _whole(least: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
        return int(text)

    return whole


def _box_and_points(text: str) -> tuple[str, int]:
    box, _, points = text.partition("=")
    if not points.isdecimal():
        raise ValueError(f"{text!r} is not of the form box=points, such as chance=22")
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
        (
            "cards that can occur",
            f"{solution.reachable_cards:,} ({solution.reachable_share:.1%} of all)",
        ),
        ("seconds to solve or to read", f"{seconds:.2f}"),
    ]
    return _rows(f"perfect play of {solution.ruleset.name}", rows, data)


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
    first, *others = actions
    sentences = [
        f"{first['description']}: worth {first['value']:.3f}, "
        f"expected total {first['expected_total']:.2f}",
        *(f"{other['description']}: costs {other['cost']:.3f}" for other in others),
    ]

    def tables() -> list[RenderableType]:
        dice = "-".join(map(str, sorted(state.dice)))
        title = f"{dice}, {state.rolls_left} rolls left, {score} points so far"
        columns = ["points to come", "final total", "cost"]
        table = plain_table(title, ["action"], columns)
        for one in actions:
            points = (f"{one[name]:.3f}" for name in ("value", "expected_total", "cost"))
            table.add_row(one["description"], *points)
        return [table]

    return Report(data, sentences, tables)


def _state(options: Any) -> State:
    """The position that the arguments describe; ends with a message if there is none."""
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
        exact = _exact_values(options, policies) if options.exact else []
        size = (options.ruleset, options.games, options.seed)
        result = evaluate(policies[0], *size) if len(policies) == 1 else compare(policies, *size)
    except (ValueError, OSError, ImportError) as error:
        options.error(str(error))
    except MemoryError:
        options.error(f"{options.games:,} games do not fit in memory; try fewer")
    data = result.to_dict()
    if options.exact:
        data["exact"] = [asdict(value) for value in exact]
    exact_sentences = [
        f"{value.policy} on {value.ruleset}: exactly {value.mean:.4f}, "
        f"standard deviation of a game {value.std:.3f}"
        for value in exact
    ]
    sentences = [str(result), *exact_sentences]
    return Report(data, sentences, lambda: [result, *exact_sentences])


def _exact_values(options: Any, policies: Sequence[Policy]) -> list[PolicyValue]:
    for policy in policies:
        if not policy.deterministic:
            options.error(
                f"{policy.name} is not deterministic: only such a policy has exact values"
            )
    return [_exact_value(policy, options.ruleset) for policy in policies]


def _exact_value(policy: Policy, ruleset: Ruleset) -> PolicyValue:
    """The value, with a progress bar for a person who waits."""
    if not (sys.stderr.isatty() and _has_rich()):
        return policy_value(policy, ruleset)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"exact value of {policy.name}", total=1.0)
        return policy_value(policy, ruleset, lambda share: bar.update(task, completed=share))


def _bench(options: Any) -> Report:
    speeds = list(measure_speed())
    rows = [
        (one.what, f"{one.figure:,.{2 if one.figure < 100 else 0}f} {one.unit}") for one in speeds
    ]
    return _rows("speed on this machine", rows, {"speeds": [asdict(speed) for speed in speeds]})


# Printing.


def _rows(title: str, rows: Sequence[tuple[str, str]], data: dict[str, Any]) -> Report:
    """A report of named figures."""

    def tables() -> list[RenderableType]:
        table = plain_table(title, [""], [""])
        table.show_header = False
        for row in rows:
            table.add_row(*row)
        return [table]

    return Report(data, [f"{title}:", *(f"{name}: {figure}" for name, figure in rows)], tables)


def _has_rich() -> bool:
    try:
        rich_table()
    except ImportError:
        return False
    return True


def _print_tables(report: Report) -> None:
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False)
    with console.capture() as captured:
        for part in report.tables():
            console.print(part)
    print(captured.get(), end="")
