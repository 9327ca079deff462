"""What a QR-DQN agent knows about luck: ``python -m benchmarks.luck runs/qrdqn-1``.

Compares the quantiles that the best agent of a run predicts with exact distributions and with its
own games. Lets it also choose by its lowest or its highest quantiles alone, which makes it averse
to risk or seek it. Writes the picture and the table of docs/qrdqn.md.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import NDArray

from agents.algorithms.qrdqn import RedrawQRDQN, forecaster, tail_policy
from agents.algorithms.quantiles import (
    Forecast,
    Played,
    calibration,
    distances,
    first_rolls,
    levels,
    play,
    predicted,
)
from agents.command_line import read_config
from agents.config import TrainConfig, make_config
from agents.runs.folder import BEST, CONFIG, EVALUATIONS
from yahtzee_env import State, evaluate, solve
from yahtzee_env.dice import ROLL_PROBABILITIES
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv
from yahtzee_env.files import write_atomically
from yahtzee_env.game import Positions
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.distribution import Distribution

DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURE = DOCS / "qrdqn.md", DOCS / "qrdqn.png"
BEGIN, END = "<!-- python -m benchmarks.luck -->\n", "<!-- end -->\n"
CAPTION = (
    "Predicted and exact distributions, calibration, distances by turn and in training, scores"
)
SEED = 2026
TAIL = 0.25
"""The share of the quantiles by which the variants choose."""

LAST_BOX = State(
    dice=(2, 4, 4, 4, 6),
    card={
        **{"ones": 3, "twos": 6, "threes": 9, "fours": 12, "fives": 15, "sixes": 18},
        **{"three_of_a_kind": 22, "four_of_a_kind": 17, "full_house": 25, "chance": 21},
        **{"small_straight": 30, "large_straight": 40},
    },
)
"""Three fours, two rerolls, and only the box for five alike open."""


def load(run: Path) -> tuple[RedrawQRDQN, TrainConfig]:
    """The best agent of a finished run of QR-DQN, and its configuration."""
    config = make_config(read_config(run / CONFIG))
    env = YahtzeeSB3VecEnv(config.ruleset, config.n_envs, config.points_per_reward)
    model = config.learner.make(config.settings, config.network, env)
    assert isinstance(model, RedrawQRDQN), f"{run} is a run of {config.algorithm}"
    model.set_parameters(str(run / BEST), device="cpu")
    return model, config


def score_distribution(scores: NDArray[np.int64]) -> Distribution:
    """The distribution of the scores that were played."""
    return Distribution(int(scores.min()), np.bincount(scores - scores.min()) / len(scores))


def ways_to_play(model: RedrawQRDQN, ruleset: Ruleset, games: int) -> dict[str, Distribution]:
    """The scores of greedy play by all quantiles and by either tail, and those of optimal play."""
    tails = {
        f"lowest {TAIL:.0%}": (0.0, TAIL),
        "all": (0.0, 1.0),
        f"highest {TAIL:.0%}": (1.0 - TAIL, 1.0),
    }
    played = {
        name: evaluate(tail_policy(model, name, *tail), ruleset, games=games, seed=SEED)
        for name, tail in tails.items()
    }
    found = {name: score_distribution(result.scores) for name, result in played.items()}
    return found | {"optimal play (exact)": solve(ruleset).start_distribution}


def table(found: dict[str, Distribution]) -> str:
    """Mean, spread and both tails of each way to play."""
    head = ["quantiles averaged", "mean", "standard deviation", "CVaR 10 %", "CVaR 25 %"]
    lines = [[*head, "P(score < 200)", "P(score ≥ 300)"], ["---"] * 7]
    for name, each in found.items():
        values = (each.mean, each.std, each.cvar(0.1), each.cvar(0.25))
        chances = (each.cdf(199), each.at_least(300))
        lines.append([name, *(f"{v:.1f}" for v in values), *(f"{p:.1%}" for p in chances)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def draw_start(plot: Any, forecast: Forecast, ruleset: Ruleset) -> None:
    """The distribution functions of the final score at the start."""
    exact = solve(ruleset).start_distribution
    quantiles = predicted(forecast, first_rolls(ruleset))
    n = quantiles.shape[1]
    order = quantiles.ravel().argsort()
    chances = np.repeat(ROLL_PROBABILITIES / n, n)[order].cumsum()
    plot.step(exact.values, exact.probabilities.cumsum(), label="optimal play, exact", where="post")
    plot.step(quantiles.ravel()[order], chances, label="predicted", where="post")
    plot.set(title="The final score, before the first roll", xlabel="points", xlim=(80, 480))
    plot.set_ylabel("P(score ≤ points)")
    plot.legend()


def draw_last_box(plot: Any, forecast: Forecast, ruleset: Ruleset) -> None:
    """Quantile functions of a position with two outcomes."""
    positions = Positions.of(ruleset, LAST_BOX)
    quantiles, exact = (
        predicted(forecast, positions)[0],
        solve(ruleset).score_distribution(LAST_BOX),
    )
    grid = levels(1000)
    plot.plot(grid, [exact.quantile(level) for level in grid], label="optimal play, exact")
    plot.plot(levels(len(quantiles)), quantiles, "o", markersize=3, label="predicted")
    plot.set(title="Three alike, two rerolls, only the Yahtzee box open", xlabel="level")
    plot.set_ylabel("points to come")
    plot.legend()


def turns(played: Played) -> NDArray[np.int64]:
    """(n,) int64: the turn of each decision, from 1."""
    filled: NDArray[np.uint16] = played.positions.records["filled"]
    return np.array([int(boxes).bit_count() for boxes in filled]) + 1


def draw_calibration(plot: Any, played: Played) -> None:
    """The share of returns below each quantile, in three parts of the game."""
    turn = turns(played)
    last = int(turn.max())
    plot.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
    for begin, end in ((1, 4), (5, 8), (9, last)):
        rows = (begin <= turn) & (turn <= end)
        shares = calibration(played.quantiles[rows], played.returns[rows])
        plot.plot(levels(len(shares)), shares, ".-", label=f"turns {begin} to {end}")
    plot.set(title="Calibration in its own games", xlabel="level of the quantile")
    plot.set_ylabel("share of returns below")
    plot.legend()


def draw_distances(plot: Any, played: Played, ruleset: Ruleset) -> None:
    """The mean distance to the exact distributions, by turn."""
    rng, turn = np.random.default_rng(SEED), turns(played)
    n = played.quantiles.shape[1]
    means: dict[str, list[float]] = {"predicted": [], f"the best that {n} quantiles can do": []}
    each = range(1, int(turn.max()) + 1)
    for number in each:
        rows = rng.choice(np.flatnonzero(turn == number), 100)
        exact = solve(ruleset).score_distribution(played.positions.select(rows))
        best = np.array([[one.quantile(level) for level in levels(n)] for one in exact])
        for label, quantiles in zip(means, (played.quantiles[rows], best), strict=True):
            means[label].append(distances(quantiles, exact).mean())
    for label, values in means.items():
        plot.plot(each, values, ".-", label=label)
    plot.set(title="Distance to optimal play", xlabel="turn", ylim=(0, None))
    plot.set_ylabel("Wasserstein-1, points")
    plot.legend()


def draw_learning(plot: Any, path: Path) -> None:
    """The distances that were logged in training."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    steps = [float(row["timesteps"]) / 1e6 for row in rows]
    for key, label in (("wasserstein_start", "start"), ("wasserstein_positions", "its games")):
        plot.plot(steps, [float(row[key]) for row in rows], ".-", label=label)
    plot.set(title="The distance while it learned", xlabel="steps, millions", ylim=(0, None))
    plot.set_ylabel("Wasserstein-1, points")
    plot.legend()


def draw_scores(plot: Any, found: dict[str, Distribution]) -> None:
    """The share of games in each ten points."""
    edges = np.arange(80, 500, 10)
    for name, each in found.items():
        shares = [each.cdf(int(edge) + 9) - each.cdf(int(edge) - 1) for edge in edges]
        plot.plot(edges + 4.5, shares, label=name)
    plot.set(title="Scores, by the quantiles averaged", xlabel="points")
    plot.set_ylabel("share of games in ten points")
    plot.legend()


def write_page(text: str) -> None:
    """Replace the picture and the table of the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    page = f"{before}{BEGIN}\n![{CAPTION}]({PICTURE.name})\n\n{text}\n{END}{rest.partition(END)[2]}"
    write_atomically(PAGE, lambda path: path.write_text(page, encoding="utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path, help="the folder of a finished run of qrdqn")
    parser.add_argument("--games", type=int, default=200_000, help="games of each way to play")
    options = parser.parse_args()
    model, config = load(options.run)
    ruleset, forecast = config.ruleset, forecaster(model)
    played = play(forecast, ruleset, 2000, np.random.default_rng(SEED))
    found = ways_to_play(model, ruleset, options.games)
    figure, plots = plt.subplots(2, 3, figsize=(15, 8), layout="constrained")
    draw_start(plots[0, 0], forecast, ruleset)
    draw_last_box(plots[0, 1], forecast, ruleset)
    draw_calibration(plots[0, 2], played)
    draw_distances(plots[1, 0], played, ruleset)
    draw_learning(plots[1, 1], options.run / EVALUATIONS)
    draw_scores(plots[1, 2], found)
    figure.savefig(PICTURE, dpi=100)
    write_page(table(found))


if __name__ == "__main__":
    main()
