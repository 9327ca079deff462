"""Numba compilation of every kernel of the package, cached on disk."""

from __future__ import annotations

import contextlib
import dis
import hashlib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import config, event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.sigutils import normalize_signature

if config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError("yahtzee_env needs Numba's compiler: unset NUMBA_DISABLE_JIT")

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = __name__.partition(".")[0]


def kernel(function: Function) -> Function:
    """Compile `function` on first use and cache the machine code, see `fingerprint`."""
    compiled: Any = numba.njit(nogil=True, error_model="numpy")(function)
    try:
        compiled._cache = _KernelCache(function)
    except RuntimeError:  # from Numba: no candidate for the cache folder can be written
        _notices.warn(
            "compiled kernels cannot be kept for the next run: "
            "no cache folder can be written; NUMBA_CACHE_DIR chooses one"
        )
    return cast(Function, compiled)


@cache
def fingerprint(function: Callable[..., Any]) -> str:
    """A hash of everything that the machine code of a kernel depends on.

    That is its bytecode, the functions it calls, recursively, the constants and arrays it reads,
    and the compiler options. Docstrings, comments and line numbers do not count.
    """
    digest = hashlib.sha256()
    for part in _parts(function):
        digest.update(part if isinstance(part, bytes) else f"{part}\0".encode())
    return digest.hexdigest()


def _parts(function: Callable[..., Any]) -> Iterator[Any]:
    plain = cast(FunctionType, inspect.unwrap(function))
    yield getattr(function, "targetoptions", None)
    yield plain.__defaults__
    for instruction in _instructions(plain.__code__):
        yield instruction.opname
        if not isinstance(instruction.argval, CodeType):
            yield instruction.argval
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval in plain.__globals__:
            yield from _described(plain.__globals__[instruction.argval])
    for cell in plain.__closure__ or ():
        yield from _described(cell.cell_contents)


def _instructions(code: CodeType) -> Iterator[dis.Instruction]:
    """The instructions of a function and of the functions defined in it."""
    for instruction in dis.get_instructions(code):
        yield instruction
        if isinstance(instruction.argval, CodeType):
            yield from _instructions(instruction.argval)


def _described(value: Any) -> Iterator[Any]:
    # Kernels and intrinsics wrap plain functions.
    plain = inspect.unwrap(value) if callable(value) else value
    if isinstance(plain, FunctionType) and (
        hasattr(value, "targetoptions") or plain.__module__.startswith(f"{_PACKAGE}.")
    ):
        yield fingerprint(value)
    elif isinstance(value, np.ndarray):
        yield value.dtype
        yield value.shape
        yield value.tobytes()
    elif isinstance(value, ModuleType):
        if value.__name__.startswith(f"{_PACKAGE}."):
            raise TypeError(f"a kernel must import names from {value.__name__}, not the module")
        yield value.__name__
    else:
        yield repr(value)


class _KernelCache(FunctionCache):
    """Numba's cache, keyed by `fingerprint` instead of the source file; a fault is a miss."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        function = self._py_func
        version = f"py{sys.version_info.major}{sys.version_info.minor}"
        name = f"{function.__module__}.{function.__qualname__}.{version}"
        self._cache_file = IndexDataCacheFile(self._cache_path, name, fingerprint(function))
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # unpickling a damaged file can raise anything
            _notices.warn(f"a file in {self._cache_path} is damaged ({error!r}) and is replaced")
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _notices.warn(f"compiled kernels cannot be kept for the next run: {error}")
        else:
            _notices.say("compiled kernels are kept for the next run")

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        # The fingerprint covers the code. Numba identifies the type of a named tuple by its class,
        # whatever its fields.
        types, _ = normalize_signature(sig)
        fields = [str(getattr(one, "fields", "")) for one in types]
        return sig, codegen.magic_tuple(), *fields


class _Notices(event.Listener):
    """Tells the user, once each, that kernels are being compiled, and whether they are kept."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._warned = False

    def on_start(self, event: event.Event) -> None:
        # Numba raises the event for every function compiled; some have no module.
        module = event.data["dispatcher"].py_func.__module__ or ""
        if module.startswith(f"{_PACKAGE}."):
            self.say("compiling kernels, which takes up to a minute")

    def on_end(self, event: event.Event) -> None:
        pass

    def say(self, sentence: str) -> None:
        if sentence not in self._said and not self._warned:
            self._said.add(sentence)
            print(f"{_PACKAGE}: {sentence}", file=sys.stderr)

    def warn(self, sentence: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(f"{_PACKAGE}: {sentence}", stacklevel=3)


_notices = _Notices()
event.register("numba:compile", _notices)
