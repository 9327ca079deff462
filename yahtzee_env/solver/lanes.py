"""Rows of eight float64 that stay in vector registers.

LLVM does not make vector operations of short loops over a row of a table, since it cannot know
that the rows it reads and writes are different ones. Here a row is a tuple of eight floats, and
each function is one vector operation; LLVM sees through the packing and unpacking between them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8
"""Columns of a table of rows: one cache line of float64."""

_ROW = types.UniTuple(types.float64, LANES)
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_ALIGN = 8


def _pack(builder: Any, row: Any) -> Any:
    vector = ir.Constant(_VECTOR, ir.Undefined)
    for lane in range(LANES):
        value = builder.extract_value(row, lane)
        vector = builder.insert_element(vector, value, ir.Constant(ir.IntType(32), lane))
    return vector


def _unpack(builder: Any, vector: Any) -> Any:
    values = [
        builder.extract_element(vector, ir.Constant(ir.IntType(32), lane)) for lane in range(LANES)
    ]
    return cgutils.pack_array(builder, values, ir.DoubleType())


def _row_pointer(context: Any, builder: Any, table_type: Any, table: Any, index: Any) -> Any:
    data = context.make_array(table_type)(context, builder, value=table).data
    offset = builder.mul(index, ir.Constant(index.type, LANES))
    return builder.bitcast(builder.gep(data, [offset]), _VECTOR.as_pointer())


@intrinsic
def load(typingctx, table, index):
    """Row `index` of a C-contiguous (n, LANES) float64 table."""

    def codegen(context, builder, signature, args):
        pointer = _row_pointer(context, builder, signature.args[0], *args)
        return _unpack(builder, builder.load(pointer, align=_ALIGN))

    return _ROW(table, types.uintp), codegen


@intrinsic
def store(typingctx, table, index, row):
    """Write row `index` of a table."""

    def codegen(context, builder, signature, args):
        pointer = _row_pointer(context, builder, signature.args[0], *args[:2])
        builder.store(_pack(builder, args[2]), pointer, align=_ALIGN)
        return context.get_dummy_value()

    return types.void(table, types.uintp, _ROW), codegen


@intrinsic
def add(typingctx, a, b):
    """The sums of two rows, lane by lane."""

    def codegen(context, builder, signature, args):
        return _unpack(builder, builder.fadd(*(_pack(builder, row) for row in args)))

    return _ROW(_ROW, _ROW), codegen


@intrinsic
def scale(typingctx, row, factor):
    """A row times a number."""

    def codegen(context, builder, signature, args):
        factors = _pack(builder, cgutils.pack_array(builder, [args[1]] * LANES, ir.DoubleType()))
        return _unpack(builder, builder.fmul(_pack(builder, args[0]), factors))

    return _ROW(_ROW, types.float64), codegen


@intrinsic
def larger(typingctx, a, b):
    """The larger of two rows, lane by lane; neither may hold NaN."""

    def codegen(context, builder, signature, args):
        signature = ir.FunctionType(_VECTOR, [_VECTOR, _VECTOR])
        name = f"llvm.maxnum.v{LANES}f64"
        maximum = cgutils.get_or_insert_function(builder.module, signature, name)
        rows = [_pack(builder, row) for row in args]
        return _unpack(builder, builder.call(maximum, rows, fastmath=("nnan", "nsz")))

    return _ROW(_ROW, _ROW), codegen
