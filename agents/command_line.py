"""The command line of a training: options, and any key of the configuration."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.config import FULL_CONFIG, TrainConfig, make_config
from agents.runs.folder import CONFIG
from agents.settings import allowed, keys, read_yaml


@dataclass(frozen=True)
class Options:
    """What to do with the run folder.

    Attributes:
        run_dir: the folder of a new run; None for one in runs/, named after the run.
        force: overwrite the run in that folder.
        resume: the folder of a run to resume; None for a new run.
    """

    run_dir: Path | None = None
    force: bool = False
    resume: Path | None = None


def parse(arguments: Sequence[str]) -> tuple[TrainConfig, Options]:
    """The configuration and options of a command line such as ``--config FILE --seed 2``.

    Keys on the command line override those of the file, in any order. Every name may be written
    with - in place of _. ``--resume RUN`` stands alone: the configuration is that of the run.

    Raises:
        ValueError: in one sentence that names the key, what was given and what is allowed.
        OSError: if the file cannot be read.
    """
    try:
        options, rest = _parser().parse_known_args([_with_underscores(text) for text in arguments])
    except argparse.ArgumentError as error:
        raise ValueError(str(error)) from None
    if options.resume is None:
        values = {} if options.config is None else read_config(options.config)
        return make_config(_overridden(values, rest)), Options(options.run_dir, options.force)
    if rest or options.config or options.run_dir or options.force:
        raise ValueError("--resume takes the folder of a run and no other argument")
    return _config_of_run(options.resume), Options(resume=options.resume)


def read_config(path: Path) -> dict[str, Any]:
    """The content of a configuration file.

    Raises:
        ValueError: in one sentence, for a file that does not map keys to values.
        OSError: if it cannot be read.
    """
    try:
        values = read_yaml(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not a configuration: {error}") from None
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ValueError(f"{path} is not a configuration: it must map keys to values")
    return values


def _config_of_run(folder: Path) -> TrainConfig:
    path = folder / CONFIG
    if not path.is_file():
        raise ValueError(f"there is no run to resume in {folder}: it has no {CONFIG}")
    try:
        return make_config(read_config(path))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agents.train",
        description="Train an agent and measure it.",
        epilog="\n".join(_help_of_keys()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        exit_on_error=False,
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="YAML file of a configuration")
    parser.add_argument("--run_dir", type=Path, metavar="DIR", help="the run folder")
    parser.add_argument("--force", action="store_true", help="overwrite the run in the folder")
    parser.add_argument("--resume", type=Path, metavar="DIR", help="resume the run in a folder")
    return parser


def _help_of_keys() -> Iterator[str]:
    yield "keys of the configuration, for the command line and for YAML, where a dot is a level:"
    for key, schema in keys(FULL_CONFIG).items():
        default = f"; default {schema['default']}" if "default" in schema else ""
        yield f"  --{key}\n      {schema.get('description', '')}\n      {allowed(schema)}{default}"


def _with_underscores(text: str) -> str:
    if not text.startswith("--"):
        return text
    name, equals, value = text[2:].partition("=")
    return f"--{name.replace('-', '_')}{equals}{value}"


def _overridden(values: Mapping[str, Any], arguments: Sequence[str]) -> dict[str, Any]:
    """The values of a file with those of ``--key value`` and ``--group.key=value`` put in."""
    known = keys(FULL_CONFIG)
    merged = dict(values)
    for key, text in _pairs(arguments):
        value = text if known.get(key, {}).get("type") == "string" else _value(key, text)
        group, _, name = key.rpartition(".")
        if not group:
            merged[name] = value
        elif isinstance(merged.setdefault(group, {}), dict):  # else validation refuses the group
            merged[group] = {**merged[group], name: value}
    return merged


def _pairs(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("--"):
            raise ValueError(f"unexpected argument {argument!r}; a key is given as --key value")
        key, equals, text = argument[2:].partition("=")
        value = text if equals else next(rest, None)
        if value is None:
            raise ValueError(f"--{key} needs a value")
        yield key, value


def _value(key: str, text: str) -> Any:
    try:
        return read_yaml(text)
    except ValueError:
        raise ValueError(f"{key}: {text!r} is not a YAML value") from None
