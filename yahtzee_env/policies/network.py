"""Trained networks as policies: files of numbers without code, run by NumPy alone."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import N_HOLDS
from yahtzee_env.files import write_atomically
from yahtzee_env.game import Positions
from yahtzee_env.observation import layouts, observation_names
from yahtzee_env.rules import Ruleset

FORMAT = "yahtzee-env agent 1"
AGENT_FILE = "agent.npz"
"""The agent in the folder of a training run."""

MOST_BYTES = 256 * 2**20
"""Larger contents of a file are refused before they are unpacked."""

Floats = NDArray[np.float32]

_HEADER, _SKIP = "header", "skip"
_ROWS = 1024  # as many as fit the cache of a core
_TINY = np.float32(1e-5)


def _linear(x: Floats, weight: Floats, bias: Floats) -> Floats:
    outputs: Floats = x @ weight
    outputs += bias
    return outputs


def _layer_norm(x: Floats, scale: Floats, shift: Floats) -> Floats:
    x -= x.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", x, x) / x.shape[1]
    x /= np.sqrt(variance + _TINY)[:, None]
    x *= scale
    x += shift
    return x


def _silu(x: Floats) -> Floats:
    with np.errstate(over="ignore"):
        divisor = np.exp(-x)
    divisor += 1
    x /= divisor
    return x


def _relu(x: Floats) -> Floats:
    return np.maximum(x, 0, out=x)


def _tanh(x: Floats) -> Floats:
    return np.tanh(x, out=x)


LAYERS: dict[str, tuple[tuple[str, ...], Callable[..., Floats]]] = {
    "linear": (("weight", "bias"), _linear),
    "layer_norm": (("scale", "shift"), _layer_norm),
    "silu": ((), _silu),
    "relu": ((), _relu),
    "tanh": ((), _tanh),
}
"""Each kind of layer: the names of its arrays, and its function of (n, inputs) float32, which may
overwrite its argument.

The weight of a "linear" layer is (inputs, outputs); "layer_norm" normalises each row with 1e-5
added to its variance.
"""


@dataclass(frozen=True)
class Layer:
    """One layer of a network.

    Attributes:
        kind: a key of `LAYERS`.
        arrays: its arrays in the order given there, float32.
    """

    kind: str
    arrays: tuple[Floats, ...] = ()


@dataclass(frozen=True)
class NetworkPolicy:
    """Chooses the legal action with the highest output of a network; needs NumPy alone.

    Attributes:
        name: the name of the policy in results.
        ruleset: the rules it was trained for; it plays no others.
        layers: the layers from the features to one output per action.
        skip: None, or (features, actions) float32, a linear layer without bias from the features
            directly to the outputs.
        training: a record of the training for people: plain data, ready for JSON.
        features: the names of the features it sees, in the order of its inputs; by default those
            of the current observation.

    Raises:
        ValueError: if the layers do not lead from the features to the actions, or if a feature is
            unknown.
    """

    name: str
    ruleset: Ruleset
    layers: Sequence[Layer]
    skip: Floats | None = None
    training: Mapping[str, Any] = field(default_factory=dict)
    features: Sequence[str] = ()
    _source: tuple[str, NDArray[np.int64] | None] = field(init=False, repr=False, compare=False)
    deterministic = True

    def __post_init__(self) -> None:
        features = tuple(self.features) or observation_names(self.ruleset)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "_source", _find_features(self.ruleset, features))
        actions = N_HOLDS + len(self.ruleset.boxes)
        _check_layers(self.layers, len(features), actions)
        if self.skip is not None:
            _check_array(self.skip, (len(features), actions))

    def outputs(self, observations: Floats) -> Floats:
        """(n, actions) float32: the network's outputs for (n, features) observations."""
        x = observations.copy()
        for layer in self.layers:
            x = LAYERS[layer.kind][1](x, *layer.arrays)
        if self.skip is not None:
            x += observations @ self.skip
        return x

    def act(self, positions: Positions, rng: np.random.Generator) -> NDArray[np.int64]:
        """(n,) int64: the legal action of the highest output, the first of equal ones.

        Raises:
            ValueError: for positions of another rule set.
        """
        actions: NDArray[np.int64] = self.legal_outputs(positions).argmax(axis=1)
        return actions

    def legal_outputs(self, positions: Positions) -> Floats:
        """(n, actions) float32: the network's outputs, minus infinity for illegal actions.

        Raises:
            ValueError: for positions of another rule set.
        """
        if positions.ruleset != self.ruleset:
            raise ValueError(
                f"{self.name} was trained for the rule set {self.ruleset.name!r} "
                f"and cannot play {positions.ruleset.name!r}"
            )
        feature_set, columns = self._source
        observations, masks = positions.observe(feature_set)
        if columns is not None:
            observations = observations[:, columns]
        outputs = np.full(masks.shape, -np.inf, np.float32)
        for begin in range(0, len(positions), _ROWS):
            rows = slice(begin, begin + _ROWS)
            np.copyto(outputs[rows], self.outputs(observations[rows]), where=masks[rows] > 0)
        return outputs

    def save(self, path: Path) -> None:
        """Write the agent to a file; readers see the old or the new file, never a part."""
        header = {
            "format": FORMAT,
            "name": self.name,
            "ruleset": self.ruleset.to_dict(),
            "features": self.features,
            "layers": [layer.kind for layer in self.layers],
            "training": self.training,
        }
        arrays: dict[str, NDArray[Any]] = {
            _HEADER: np.frombuffer(json.dumps(header).encode(), np.uint8)
        }
        for i, layer in enumerate(self.layers):
            arrays |= zip(_array_names(i, layer.kind), layer.arrays, strict=True)
        if self.skip is not None:
            arrays[_SKIP] = self.skip
        packed = io.BytesIO()
        np.savez_compressed(packed, allow_pickle=False, **arrays)
        write_atomically(path, lambda file: file.write_bytes(packed.getvalue()))


def load_network(path: Path) -> NetworkPolicy:
    """The agent in a file of `NetworkPolicy.save`; nothing in the file is ever executed.

    Raises:
        ValueError: in one sentence, if the file is not an agent or its features are unknown.
        OSError: if the file cannot be read.
    """
    try:
        arrays = _read_arrays(path)
        header = json.loads(arrays.pop(_HEADER).tobytes())
        if header["format"] != FORMAT:
            raise ValueError(f"its format is {header['format']!r}, not {FORMAT!r}")
        ruleset = Ruleset.from_dict(header["ruleset"])
        layers = _layers(header["layers"], arrays)
        if not re.fullmatch(r"[\w.-]{1,100}", header["name"]):
            raise ValueError("its name must be 1 to 100 letters, digits and any of _.-")
        if not isinstance(header["training"], dict):
            raise ValueError("its training must be a dictionary")
        if not header["features"]:
            raise ValueError("it has no features")
        return NetworkPolicy(
            header["name"],
            ruleset,
            layers,
            arrays.get(_SKIP),
            header["training"],
            header["features"],
        )
    except OSError:
        raise
    except KeyError as error:
        raise ValueError(f"{path} is not an agent file: it lacks {error}") from None
    except Exception as error:
        # A broken or hostile file can raise anything; the user gets one sentence.
        what = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} is not an agent file: {what}") from None


def _find_features(
    ruleset: Ruleset, features: tuple[str, ...]
) -> tuple[str, NDArray[np.int64] | None]:
    """A set of features that contains those named, and their columns; None for all, in order."""
    known: set[str] = set()
    for feature_set, layout in layouts(ruleset).items():
        if features == layout.names:
            return feature_set, None
        if set(features) <= set(layout.names):
            return feature_set, np.array([layout.names.index(name) for name in features])
        known.update(layout.names)
    unknown = ", ".join(map(repr, sorted(set(features) - known)[:3])) or "a mix of feature sets"
    raise ValueError(f"it was trained on features that this version does not observe: {unknown}")


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > MOST_BYTES:
        raise ValueError(f"it unpacks to {size:,} bytes, more than {MOST_BYTES:,}")
    with np.load(path, allow_pickle=False) as file:
        return {name: np.asarray(file[name]) for name in file.files}


def _layers(kinds: Iterable[str], arrays: Mapping[str, NDArray[Any]]) -> tuple[Layer, ...]:
    layers = []
    for i, kind in enumerate(kinds):
        if kind not in LAYERS:
            raise ValueError(f"unknown layer {kind!r}; there are {', '.join(LAYERS)}")
        layers.append(Layer(kind, tuple(arrays[name] for name in _array_names(i, kind))))
    return tuple(layers)


def _array_names(i: int, kind: str) -> list[str]:
    return [f"{i}.{name}" for name in LAYERS[kind][0]]


def _check_layers(layers: Sequence[Layer], features: int, actions: int) -> None:
    width = features
    for layer in layers:
        outputs = layer.arrays[-1].size if layer.kind == "linear" else width
        shapes = [(width, outputs) if layer.kind == "linear" else (outputs,), (outputs,)]
        for array, shape in zip(layer.arrays, shapes, strict=False):
            _check_array(array, shape)
        width = outputs
    if width != actions:
        raise ValueError(f"it has {width} outputs for {actions} actions")


def _check_array(array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"an array of its weights has shape {array.shape}, not {shape}")
    if array.dtype != np.float32 or not np.isfinite(array).all():
        raise ValueError("its weights must be finite float32 numbers")
