"""Rows of numbers that stay in vector registers: eight float64 or sixteen float32.

LLVM does not make vector operations of short loops over a row of a table, since it cannot know
that the rows it reads and writes are different ones. Here a row is a tuple of numbers, and each
function is one vector operation; LLVM sees through the packing and unpacking between them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8
"""Columns of a table of float64 rows: one cache line."""

LANES32 = 2 * LANES
"""Columns of a table of float32 rows."""

_ALIGN = 4
_LLVM = {types.float64: ir.DoubleType(), types.float32: ir.FloatType()}


def _row_of(dtype: Any) -> Any:
    """The type of a row of a table of this type of number."""
    return types.UniTuple(dtype, LANES if dtype == types.float64 else LANES32)


def _vector_of(row: Any) -> Any:
    return ir.VectorType(_LLVM[row.dtype], row.count)


def _pack(builder: Any, row_type: Any, row: Any) -> Any:
    vector = ir.Constant(_vector_of(row_type), ir.Undefined)
    for lane in range(row_type.count):
        value = builder.extract_value(row, lane)
        vector = builder.insert_element(vector, value, ir.Constant(ir.IntType(32), lane))
    return vector


def _unpack(builder: Any, row_type: Any, vector: Any) -> Any:
    values = [
        builder.extract_element(vector, ir.Constant(ir.IntType(32), lane))
        for lane in range(row_type.count)
    ]
    return cgutils.pack_array(builder, values, _LLVM[row_type.dtype])


def _row_pointer(
    context: Any, builder: Any, table_type: Any, row: Any, table: Any, index: Any
) -> Any:
    data = context.make_array(table_type)(context, builder, value=table).data
    offset = builder.mul(index, ir.Constant(index.type, row.count))
    return builder.bitcast(builder.gep(data, [offset]), _vector_of(row).as_pointer())


@intrinsic
def load(typingctx, table, index):
    """Row `index` of a C-contiguous (n, lanes) table of float64 or float32."""
    row = _row_of(table.dtype)

    def codegen(context, builder, signature, args):
        pointer = _row_pointer(context, builder, signature.args[0], row, *args)
        return _unpack(builder, row, builder.load(pointer, align=_ALIGN))

    return row(table, types.uintp), codegen


@intrinsic
def load_at(typingctx, array, offset):
    """The row that begins at element `offset` of a contiguous array of float64 or float32."""
    row = _row_of(array.dtype)

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, value=args[0]).data
        pointer = builder.bitcast(builder.gep(data, [args[1]]), _vector_of(row).as_pointer())
        return _unpack(builder, row, builder.load(pointer, align=_ALIGN))

    return row(array, types.uintp), codegen


@intrinsic
def store(typingctx, table, index, row):
    """Write row `index` of a table."""

    def codegen(context, builder, signature, args):
        pointer = _row_pointer(context, builder, signature.args[0], row, *args[:2])
        builder.store(_pack(builder, row, args[2]), pointer, align=_ALIGN)
        return context.get_dummy_value()

    return types.void(table, types.uintp, row), codegen


@intrinsic
def add(typingctx, a, b):
    """The sums of two rows, lane by lane."""

    def codegen(context, builder, signature, args):
        return _unpack(builder, a, builder.fadd(*(_pack(builder, a, row) for row in args)))

    return a(a, a), codegen


@intrinsic
def scale(typingctx, row, factor):
    """A row times a float64 number, which is rounded to the type of the row first."""

    def codegen(context, builder, signature, args):
        number = context.cast(builder, args[1], types.float64, row.dtype)
        factors = cgutils.pack_array(builder, [number] * row.count, _LLVM[row.dtype])
        vectors = _pack(builder, row, args[0]), _pack(builder, row, factors)
        return _unpack(builder, row, builder.fmul(*vectors))

    return row(row, types.float64), codegen


@intrinsic
def larger(typingctx, a, b):
    """The larger of two rows, lane by lane; neither may hold NaN."""

    def codegen(context, builder, signature, args):
        vector = _vector_of(a)
        signature = ir.FunctionType(vector, [vector, vector])
        bits = 64 if a.dtype == types.float64 else 32
        name = f"llvm.maxnum.v{a.count}f{bits}"
        maximum = cgutils.get_or_insert_function(builder.module, signature, name)
        rows = [_pack(builder, a, row) for row in args]
        return _unpack(builder, a, builder.call(maximum, rows, fastmath=("nnan", "nsz")))

    return a(a, a), codegen
