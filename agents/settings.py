"""Typed settings: their base class and types, reading YAML, and errors in one sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

LARGEST = 10**12
"""Larger whole numbers overflow somewhere, and no setting needs them."""


class Settings(BaseModel):
    """A group of settings, each with a type, a default, and its description as a docstring."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )


def _integral(value: Any) -> Any:
    """The int of a float such as 1e6; anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Integral = BeforeValidator(_integral)

NonNegativeInt = Annotated[int, Field(ge=0, le=LARGEST), Integral]
PositiveInt = Annotated[int, Field(ge=1, le=LARGEST), Integral]
AtLeastTwo = Annotated[int, Field(ge=2, le=LARGEST), Integral]
NonNegativeFloat = Annotated[float, Field(ge=0)]
PositiveFloat = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
PositiveInts = Annotated[tuple[PositiveInt, ...], Field(strict=False, min_length=1)]
Texts = Annotated[tuple[str, ...], Field(strict=False)]

Model = TypeVar("Model", bound=Settings)


def validated(kind: type[Model], values: Mapping[str, Any]) -> Model:
    """The settings with these values, and defaults for the others.

    Raises:
        ValueError: in one sentence that names the key, what was given and what is allowed.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ValueError(_sentence(kind, error)) from None


def keys(kind: type[BaseModel]) -> dict[str, dict[str, Any]]:
    """The JSON schema of every setting, by its dotted key."""
    schema = kind.model_json_schema()

    def walk(group: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, part in group["properties"].items():
            if "$ref" in part:
                inner = schema["$defs"][part["$ref"].rpartition("/")[2]]
                yield from walk(inner, f"{prefix}{name}.")
            else:
                yield prefix + name, part

    return dict(walk(schema, ""))


def allowed(schema: Mapping[str, Any]) -> str:
    """What a setting may be, in words, from its JSON schema."""
    if "anyOf" in schema:
        return " or ".join(map(allowed, schema["anyOf"]))
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if schema["type"] == "array":
        least = "at least one" if schema.get("minItems") else "any number"
        return f"a list of {least}, each {allowed(schema['items'])}"
    return f"{_KINDS[schema['type']]}{_bounds(schema)}"


_KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "string": "text",
    "null": "null",
}


def _bounds(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        return f" above {schema['exclusiveMinimum']}"
    if high not in (None, LARGEST):
        return f" from {low} to {high}"
    return "" if low is None else f" of at least {low}"


def _sentence(kind: type[BaseModel], error: ValidationError) -> str:
    """The first error in a sentence."""
    first = error.errors(include_url=False)[0]
    path = [str(part) for part in first["loc"] if isinstance(part, str)]
    key = ".".join(path)
    if first["type"] == "value_error":
        reason = str(first["ctx"]["error"])
        return f"{key}: {reason}" if key else reason
    if first["type"] == "extra_forbidden":
        return unknown(key, keys(kind))
    if first["type"] == "less_than_equal" and first["ctx"]["le"] == LARGEST:
        return f"{key} must be at most {LARGEST:,}"
    known = keys(kind)
    if key not in known:  # a whole group
        inside = [name for name in known if name.startswith(f"{key}.")]
        return f"{key} must be a mapping of {', '.join(inside)}, not {_shown(first['input'])}"
    return f"{key} must be {allowed(known[key])}, not {_shown(first['input'])}"


def unknown(key: str, known: Mapping[str, Any]) -> str:
    """One sentence for a key that does not exist, with those that do."""
    group = key.rpartition(".")[0]
    same = [name for name in known if group and name.startswith(f"{group}.")]
    tops = dict.fromkeys(f"{name.partition('.')[0]}.*" if "." in name else name for name in known)
    return f"unknown key {key}; known keys are {', '.join(same or tops)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


class _Loader(yaml.SafeLoader):
    """YAML 1.1, except that `1e6` is a number and that no key may be given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names: list[Any] = []
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if name in names:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {name} is given twice", problem_mark=key.start_mark
                )
            names.append(name)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)


def read_yaml(text: str) -> Any:
    """The content of a YAML text.

    Raises:
        ValueError: in one sentence with the line, for anything else and for a key given twice.
    """
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"line {line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
