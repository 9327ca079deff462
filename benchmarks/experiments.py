"""Trainings with several seeds each: the reference agents, what masks buy, and ablations.

    python -m benchmarks.experiments [EXPERIMENT ...] [--seeds 1 2 3] [--jobs 2]

Trains the missing runs in runs/experiments, each on one core, and resumes interrupted ones.
Keeps a row for each finished run in docs/experiments.json, and writes docs/experiments.md and its
picture from all rows there.
"""

from __future__ import annotations

import argparse
import csv
import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from scipy.stats import ttest_ind

from agents.command_line import parse
from agents.runs.folder import CONFIG, EVALUATIONS, RESULT, RUNS, is_complete, write_json
from agents.runs.loop import default_threads
from yahtzee_env.evaluation import SampleMean
from yahtzee_env.files import write_atomically

ROOT = Path(__file__).parents[1]
DATA, PAGE, PICTURE = (ROOT / "docs" / f"experiments.{kind}" for kind in ("json", "md", "png"))

Rows = dict[str, dict[str, Any]]
"""What the page keeps of each run, by `EXPERIMENT-SEED`."""

COMMON = ("--threads", "1", "--evaluation.final_games", "20000")


class Experiment(NamedTuple):
    """A way of training: what it is, in words, and the arguments of `python -m agents.train`."""

    what: str
    arguments: tuple[str, ...]


class Section(NamedTuple):
    """Experiments of one budget, the one that the others are compared with first."""

    title: str
    text: str
    experiments: dict[str, Experiment]


def _of(config: str, what: str, *arguments: str, steps: int | None = None) -> Experiment:
    length = () if steps is None else ("--total_timesteps", str(steps))
    return Experiment(what, ("--config", f"configs/{config}.yaml", *length, *arguments))


REFERENCES = Section(
    "The reference agents",
    "The configurations as they are, and PPO shortened.",
    {
        "ppo_quick": _of("ppo_quick", "`configs/ppo_quick.yaml`, what `make demo` trains"),
        "ppo": _of("ppo", "`configs/ppo.yaml`"),
        "ppo-10m": _of("ppo", "the same, 10 million steps", steps=10_000_000),
        "dqn": _of("dqn", "`configs/dqn.yaml`"),
        "a2c": _of("a2c", "`configs/a2c.yaml`"),
    },
)

NO_MASKS = ("--masks", "false")
OFTEN = ("--evaluation.every", "125000")
PLAIN_PPO = ("--ppo.redraws", "0", "--ppo.ent_coef", "0.05", "--total_timesteps", "2500000", *OFTEN)
PLAIN_DQN = ("--dqn.redraws", "0", "--total_timesteps", "1500000", *OFTEN)
MASKS = Section(
    "What masks buy",
    "The same steps with and without masks. Without them an illegal action costs a point and "
    "changes nothing, and a hundred of them end the game; in the games that measure the agent "
    "a random legal action replaces an illegal one. None of the four uses redraws, "
    "since an illegal action rolls no dice, and PPO has an entropy coefficient of 0.05.",
    {
        "ppo-masked": _of("ppo_quick", "PPO, masks", *PLAIN_PPO),
        "ppo-unmasked": _of("ppo_quick", "PPO, no masks", *PLAIN_PPO, *NO_MASKS),
        "dqn-masked": _of("dqn", "DQN, masks", *PLAIN_DQN),
        "dqn-unmasked": _of("dqn", "DQN, no masks", *PLAIN_DQN, *NO_MASKS),
    },
)


def _ablation(what: str, *arguments: str, steps: int = 9_000_000) -> Experiment:
    return _of("ppo_quick", what, *arguments, steps=steps)


ABLATIONS = Section(
    "Ablations of PPO",
    "`configs/ppo_quick.yaml` with as many steps as an idle core makes in ten minutes, and "
    "the same with one change from the value in brackets, with its steps chosen likewise. Other "
    "jobs shared the machine with some of these runs, so their minutes are longer, and differ.",
    {
        "reference": _ablation("nothing changed"),
        "lambda-0.95": _ablation("GAE lambda 0.95 (0.4)", "--ppo.gae_lambda", "0.95"),
        "entropy-0": _ablation("no entropy bonus (0.2)", "--ppo.ent_coef", "0"),
        "no-layer-norm": _ablation(
            "no LayerNorm", "--network.layer_norm", "false", steps=10_000_000
        ),
        "no-points": _ablation(
            "what each box pays now is hidden", "--network.hidden_features", "[pays_]"
        ),
        "no-redraws": _ablation("no redraws (3)", "--ppo.redraws", "0", steps=10_000_000),
        "width-128": _ablation(
            "two layers of 128 (256)", "--network.widths", "[128, 128]", steps=17_000_000
        ),
        "width-512": _ablation(
            "two layers of 512 (256)", "--network.widths", "[512, 512]", steps=3_500_000
        ),
    },
)

FAMILY = Section(
    "Other rule sets",
    "`configs/ppo.yaml` with fewer steps and nothing else changed.",
    {
        "yacht": _of("ppo", "`yacht`", "--ruleset", "yacht", steps=7_000_000),
        "yatzy": _of("ppo", "`yatzy`", "--ruleset", "yatzy", steps=6_000_000),
        "kismet": _of("ppo", "`kismet`", "--ruleset", "kismet", steps=6_000_000),
    },
)

SECTIONS = (REFERENCES, FAMILY, MASKS, ABLATIONS)
EXPERIMENTS = {
    name: experiment for section in SECTIONS for name, experiment in section.experiments.items()
}


def train(name: str, seed: int) -> bool:
    """Train one run to its end, resuming it if it was interrupted; returns whether it ended."""
    folder = RUNS / "experiments" / f"{name}-{seed}"
    arguments = [*EXPERIMENTS[name].arguments, *COMMON, "--name", name, "--seed", str(seed)]
    if not (folder / CONFIG).exists():
        arguments += ["--run_dir", str(folder)]
    elif parse(["--config", str(folder / CONFIG)])[0].plain() != parse(arguments)[0].plain():
        print(f"{folder} is a run of another configuration: remove it first", file=sys.stderr)
        return False
    elif is_complete(folder):
        return True
    else:
        arguments = ["--resume", str(folder)]
    print(f"{name}, seed {seed}\n", end="", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    log = folder.with_suffix(".log")
    with (
        log.open("a") as file,
        subprocess.Popen(
            [sys.executable, "-m", "agents.train", *arguments],
            stdout=file,
            stderr=file,
            process_group=0,  # Ctrl-C is for this process, which then ends the others
        ) as process,
    ):
        _running.add(process)
        failed = process.wait() != 0
        _running.remove(process)
    if failed:
        print(f"{name}, seed {seed}: not finished; {log} says why", file=sys.stderr, flush=True)
    return not failed


_running: set[subprocess.Popen[bytes]] = set()


def finished(runs: Iterable[tuple[str, int]], jobs: int) -> Iterator[tuple[str, int]]:
    """Train runs side by side; yields each that has come to its end."""
    with ThreadPoolExecutor(jobs) as pool:
        training = {pool.submit(train, *run): run for run in runs}
        try:
            for done in as_completed(training):
                if done.result():
                    yield training[done]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(_running):
                process.terminate()  # it keeps what it has learned
            raise


def row(name: str, seed: int) -> dict[str, Any]:
    """What the page keeps of a finished run."""
    folder = RUNS / "experiments" / f"{name}-{seed}"
    result = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    agent = result["scores"][-1]
    with (folder / EVALUATIONS).open(encoding="utf-8") as file:
        evaluations = list(csv.DictReader(file))
    kept = ("timesteps", "luck_adjusted_mean", "illegal_share")
    return {
        "score": agent["luck_adjusted_mean"],
        "optimum": agent["optimum"],
        "illegal_a_game": agent["illegal_actions"] / agent["games"],
        "illegal_in_training": float(evaluations[-1]["illegal_share"]),
        "timesteps": result["timesteps"],
        "games": int(float(evaluations[-1]["games"])),
        "minutes": result["training_seconds"] / 60,
        "commit": result["provenance"]["commit"],
        "curve": {column: [float(one[column]) for one in evaluations] for column in kept},
    }


def page(rows: Rows) -> str:
    """The page of all rows."""
    text = [
        "# Experiments\n\n"
        "Luck-adjusted scores of greedy play under the official rules unless stated otherwise, "
        "each from 20,000 fresh games. Seeds are the unit: ± is half of Student's 95 % "
        "interval of the mean over seeds, and the error of a single score, a few hundredths, is "
        "part of the spread between them. Differences have Welch's interval. "
        "`python -m benchmarks.experiments EXPERIMENT --seeds 1` repeats a run. Each had one core "
        "of two, while another run used the other. The runs before commit da1d65a were on a slower "
        "machine than the others, so compare minutes within a section only.\n"
    ]
    for section in SECTIONS:
        found = {name: runs for name in section.experiments if (runs := _runs(rows, name))}
        if found:
            text += [f"## {section.title}\n\n{section.text}\n", _table(section, found)]
        if found and section is MASKS:
            text.append(f"![Scores and shares of illegal actions]({PICTURE.name})\n")
    return "\n".join(text)


def _runs(rows: Rows, name: str) -> list[dict[str, Any]]:
    """The rows of one experiment."""
    return [row for key, row in rows.items() if key.rpartition("-")[0] == name]


COLUMNS = ("experiment", "", "steps", "minutes", "score by seed", "mean", "% of optimum", "commit")
ILLEGAL = ("illegal actions in training", "illegal actions per game of greedy play")
DIFFERENCE = ("against the first line",)


def _table(section: Section, found: dict[str, list[dict[str, Any]]]) -> str:
    """The table of a section; `found` has the rows of each experiment that has any."""
    first = next(iter(section.experiments))
    own = ILLEGAL if section is MASKS else DIFFERENCE if section is ABLATIONS else ()
    columns = [*COLUMNS, *own]
    lines = [columns, ["---"] * len(columns)]
    for name, rows in found.items():
        line = _line(name, section.experiments[name], rows)
        if section is MASKS:
            illegal = _mean(rows, "illegal_in_training"), _mean(rows, "illegal_a_game")
            line += [f"{illegal[0]:.1%}", f"{illegal[1]:.2f}"]
        if section is ABLATIONS:
            line.append("" if name == first else _difference(rows, found.get(first, [])))
        lines.append(line)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _line(name: str, experiment: Experiment, rows: Sequence[dict[str, Any]]) -> list[str]:
    scores = _scores(rows)
    mean = f"{scores[0]:.2f}"
    if len(scores) > 1:
        summary = SampleMean.of(scores)
        mean = f"{summary.mean:.2f} ± {summary.half_width:.2f}"
    return [
        name,
        experiment.what,
        f"{rows[0]['timesteps'] / 1e6:.1f} million",
        f"{_mean(rows, 'minutes'):.0f}",
        ", ".join(f"{score:.2f}" for score in scores),
        mean,
        f"{100 * _mean(rows, 'score') / rows[0]['optimum']:.2f}",
        ", ".join(dict.fromkeys((row["commit"] or "unknown")[:7] for row in rows)),
    ]


def _difference(rows: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> str:
    """How much higher one experiment's scores are than another's, with Welch's 95 % interval."""
    if min(len(rows), len(others)) < 2:
        return ""
    result = ttest_ind(_scores(rows), _scores(others), equal_var=False)
    low, high = result.confidence_interval(0.95)
    return f"{(low + high) / 2:+.2f} ± {(high - low) / 2:.2f}"


def _scores(rows: Sequence[dict[str, Any]]) -> list[float]:
    return [row["score"] for row in rows]


def _mean(rows: Sequence[dict[str, Any]], name: str) -> float:
    return sum(float(row[name]) for row in rows) / len(rows)


def write_page(rows: Rows) -> None:
    """Write the page, all or nothing, and its picture."""
    write_atomically(PAGE, lambda temporary: temporary.write_text(page(rows), encoding="utf-8"))
    if any(_runs(rows, name) for name in MASKS.experiments):
        draw(rows)


def draw(rows: Rows) -> None:
    """Draw the learning curves of the runs with and without masks, and their illegal actions."""
    figure, (scores, shares) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for number, (name, experiment) in enumerate(MASKS.experiments.items()):
        for i, curve in enumerate(row["curve"] for row in _runs(rows, name)):
            steps = [one / 1e6 for one in curve["timesteps"]]
            style = {"color": f"C{number}", "label": experiment.what if i == 0 else None}
            scores.plot(steps, curve["luck_adjusted_mean"], **style)
            shares.plot(steps, [100 * one for one in curve["illegal_share"]], **style)
    scores.set_ylabel("luck-adjusted score of greedy play")
    shares.set_ylabel("illegal actions so far, % of steps")
    for plot in (scores, shares):
        plot.set_xlabel("steps, millions")
        plot.grid(alpha=0.3)
    scores.legend(loc="lower right")
    figure.savefig(PICTURE, dpi=120)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code, 1 if a run has not come to its end."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.experiments",
        description="Train with several seeds; write docs/experiments.md.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="EXPERIMENT", help=f"all, or of {', '.join(EXPERIMENTS)}"
    )
    parser.add_argument(
        "--seeds", type=_seed, nargs="+", default=[1, 2, 3], help="of each experiment: 1 2 3"
    )
    parser.add_argument(
        "--jobs", type=_jobs, default=default_threads(), help="runs side by side: one a core"
    )
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(EXPERIMENTS)):
        parser.error(f"unknown {', '.join(unknown)}; there are {', '.join(EXPERIMENTS)}")
    names = options.names or EXPERIMENTS
    wanted = dict.fromkeys((name, seed) for name in names for seed in options.seeds)
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell has it ignored
        signal.signal(number, signal.default_int_handler)
    missing = len(wanted)
    try:
        for name, seed in finished(wanted, options.jobs):
            rows = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
            rows = _sorted({**rows, f"{name}-{seed}": row(name, seed)})
            write_json(DATA, rows)
            write_page(rows)
            missing -= 1
    except KeyboardInterrupt:
        print("stopped; the same command resumes", file=sys.stderr)
    return 1 if missing else 0


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a seed is a whole number, 0 or more, not {text!r}")
    return int(text)


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"jobs must be a whole number above 0, not {text!r}")
    return int(text)


def _sorted(rows: dict[str, Any]) -> dict[str, Any]:
    """The rows by name and, as numbers, by seed."""
    keys = sorted(rows, key=lambda key: (key.rpartition("-")[0], int(key.rpartition("-")[2])))
    return {key: rows[key] for key in keys}


if __name__ == "__main__":
    sys.exit(main())
