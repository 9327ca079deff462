"""Publish the agent of a finished run: ``python -m agents.export runs/ppo-1 FOLDER``.

It copies the agent, its configuration and a model card.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from string import Template
from typing import Any

from agents.command import status_of
from agents.runs.folder import AGENT
from yahtzee_env.evaluation import METRICS, metric_texts
from yahtzee_env.files import write_atomically
from yahtzee_env.policies.network import NetworkPolicy, load_network

CARD = Template(Path(__file__).with_name("model_card.md").read_text(encoding="utf-8"))


def model_card(agent: NetworkPolicy) -> str:
    """What a user should know about a trained agent, in Markdown."""
    from agents.algorithms import ALGORITHMS

    config, result = agent.training["config"], agent.training["result"]
    algorithm = ALGORITHMS[config["algorithm"]]
    [row], made = result["scores"], result["provenance"]
    packages = (f"{name} {version}" for name, version in made["packages"].items())
    return CARD.substitute(
        name=agent.name,
        algorithm=algorithm.title,
        redraws=_redraws(algorithm.redrawn, config[algorithm.name]["redraws"]),
        ruleset=agent.ruleset.name,
        games=f"{row['games']:,}",
        optimum=f"{row['optimum']:.2f}",
        metrics=_metrics(row),
        selection_games=f"{config['evaluation']['games']:,}",
        chosen=f"{result['chosen_after_timesteps']:,}",
        timesteps=f"{result['timesteps']:,}",
        seed=result["seed"],
        minutes=f"{result['training_seconds'] / 60:.0f}",
        threads=result["threads"],
        share=f"{result['evaluation_share']:.1%}",
        packages=", ".join(packages),
        **{key: made[key] for key in ("commit", "machine", "python")},
    )


def _metrics(row: dict[str, Any]) -> str:
    texts = metric_texts(row)
    return "\n".join(f"| {one.label} | {texts[one.key]} |" for one in METRICS if one.key in texts)


def _redraws(when: str, number: int) -> str:
    if not number:
        return ""
    return (
        f" {when} the simulator threw the dice {number} more times, to judge the action with less "
        "luck; these throws are not counted as steps."
    )


def publish(run: Path, folder: Path, force: bool = False) -> Path:
    """Copy the agent of a finished run to a folder, with its configuration and a model card.

    Returns the agent's file.

    Raises:
        ValueError: if the run has no agent, or the folder has one of this name and `force` is not
            given.
        OSError: if the folder cannot be written.
    """
    import yaml

    if not (run / AGENT).is_file():
        raise ValueError(f"{run} holds no {AGENT}: it is not a finished run with masks")
    agent = load_network(run / AGENT)
    try:
        config = yaml.safe_dump(agent.training["config"], sort_keys=False)
        card = model_card(agent)
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{run / AGENT} does not say how it was trained") from None
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, not a folder")
    path = folder / f"{agent.name}.npz"
    if path.exists() and not force:
        raise ValueError(f"{path} exists; --force replaces it")
    folder.mkdir(parents=True, exist_ok=True)
    agent.save(path)
    for suffix, text in ((".yaml", config), (".md", card)):
        write_atomically(path.with_suffix(suffix), _writer(text))
    return path


def _writer(text: str) -> Callable[[Path], int]:
    return lambda path: path.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 where it is refused."""
    return status_of(_export, arguments, extra="learn")


def _export(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(
        prog="python -m agents.export",
        description="Copy the agent of a finished run, with its configuration and a model card.",
    )
    parser.add_argument("run", type=Path, help="the run folder")
    parser.add_argument("folder", type=Path, help="where to put the three files")
    parser.add_argument("--force", action="store_true", help="replace an agent of the same name")
    options = parser.parse_args(arguments)
    print(publish(options.run, options.folder, options.force))


if __name__ == "__main__":
    sys.exit(main())
