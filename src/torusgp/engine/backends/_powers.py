"""Compiled loops over rows: sums and values of polynomials that are local to cells of a circle.

A row adds the products of powers of its two local coordinates, times its strength, to the moments of its cell. Eight or
sixteen powers of one of them are one vector of the processor, which a compiler does not find by itself, so the loops
say it to Numba in the terms of LLVM. Numba is imported with this module, when it is first used.
"""

from functools import lru_cache

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(64)


def _splat(builder, value, size):
    """A vector whose entries are all the same number."""
    vector, index = ir.VectorType(_DOUBLE, size), ir.IntType(32)
    single = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(index, 0))
    zeros = ir.Constant(ir.VectorType(index, size), [0] * size)
    return builder.shuffle_vector(single, ir.Constant(vector, ir.Undefined), zeros)


def _powers(builder, value, size):
    """The vector of the powers 0, 1, ..., size - 1 of a number, by the binary digits of the exponents."""
    result = one = ir.Constant(ir.VectorType(_DOUBLE, size), [1.0] * size)
    for digit in range(size.bit_length() - 1):
        has = [bool(exponent >> digit & 1) for exponent in range(size)]
        mask = ir.Constant(ir.VectorType(ir.IntType(1), size), has)
        result = builder.fmul(result, builder.select(mask, _splat(builder, value, size), one))
        value = builder.fmul(value, value)
    return result


def _vectors(context, builder, kind, array, place, size):
    """Pointer to a vector of numbers within an array, whose numbers have to be side by side."""
    if kind.layout != "C":
        raise TypeError(f"sums and tables must be contiguous arrays, got {kind}.")
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), ir.VectorType(_DOUBLE, size).as_pointer())


def _make_intrinsics(size, count):
    vector = ir.VectorType(_DOUBLE, size)

    @intrinsic
    def add(typing, sums, place, first, second, strength):
        """Sums at ``place + t size + s`` get ``strength first**s second**t``; s below the size, t below the count."""

        def generate(context, builder, signature, arguments):
            array, place, first, second, strength = arguments
            row = builder.fmul(_powers(builder, first, size), _splat(builder, strength, size))
            factor = _splat(builder, second, size)
            start = _vectors(context, builder, signature.args[0], array, place, size)
            for power in range(count):
                pointer = builder.gep(start, [ir.Constant(_INT, power)])
                builder.store(builder.fadd(builder.load(pointer, align=8), row), pointer, align=8)
                row = builder.fmul(row, factor)
            return context.get_dummy_value()

        return types.void(sums, place, first, second, strength), generate

    @intrinsic
    def value(typing, table, place, first, second):
        """Polynomial with the coefficients at ``place + t size + s``, by Horner's rule in the second variable."""

        def generate(context, builder, signature, arguments):
            array, place, first, second = arguments
            start = _vectors(context, builder, signature.args[0], array, place, size)
            total, factor = ir.Constant(vector, [0.0] * size), _splat(builder, second, size)
            for power in reversed(range(count)):
                coefficients = builder.load(builder.gep(start, [ir.Constant(_INT, power)]), align=8)
                total = builder.fadd(builder.fmul(total, factor), coefficients)
            total = builder.fmul(total, _powers(builder, first, size))
            width = size
            while width > 1:  # halves are added until one number is left
                width //= 2
                undefined = ir.Constant(ir.VectorType(_DOUBLE, 2 * width), ir.Undefined)
                parts = [
                    ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(half, half + width)))
                    for half in (0, width)
                ]
                total = builder.fadd(*(builder.shuffle_vector(total, undefined, part) for part in parts))
            return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))

        return types.float64(table, place, first, second), generate

    return add, value


@lru_cache(maxsize=32)
def make_loops(size, count):
    """Loops compiled for these numbers of powers of the first and second coordinate: vectors stay in registers.

    The first adds to the sums (n_cells, count, size), the second adds the values of such polynomials to a result;
    ``first`` are the local coordinates of another axis.
    """
    add, value = _make_intrinsics(size, count)
    step = size * count

    @njit(nogil=True, error_model="numpy")
    def add_rows(sums, first, phase, n_cells, per_radian, strength):
        for row in range(len(phase)):
            x = phase[row] * per_radian
            cell = min(max(int(x), 0), n_cells - 1)
            add(sums, cell * step, first[row], 2 * (x - cell) - 1, strength[row])

    @njit(nogil=True, error_model="numpy")
    def evaluate_rows(table, first, phase, n_cells, per_radian, result):
        for row in range(len(phase)):
            x = phase[row] * per_radian
            cell = min(max(int(x), 0), n_cells - 1)
            result[row] += value(table, cell * step, first[row], 2 * (x - cell) - 1)

    return add_rows, evaluate_rows


@lru_cache(maxsize=4)
def make_line_loops(size):
    """The same for one phase: powers of its own local coordinate, whose sums have the shape (n_cells, size)."""
    add, value = _make_intrinsics(size, 1)

    @njit(nogil=True, error_model="numpy")
    def add_rows(sums, phase, n_cells, per_radian, strength):
        for row in range(len(phase)):
            x = phase[row] * per_radian
            cell = min(max(int(x), 0), n_cells - 1)
            add(sums, cell * size, 2 * (x - cell) - 1, 1.0, strength[row])

    @njit(nogil=True, error_model="numpy")
    def evaluate_rows(table, phase, n_cells, per_radian, result):
        for row in range(len(phase)):
            x = phase[row] * per_radian
            cell = min(max(int(x), 0), n_cells - 1)
            result[row] += value(table, cell * size, 2 * (x - cell) - 1, 1.0)

    return add_rows, evaluate_rows


@njit(nogil=True, error_model="numpy")
def sort_rows(phase, n_cells, per_radian, place, start, local):
    """Places of rows in the order of their cells, where each cell starts, and local coordinates in this order."""
    start[:] = 0
    for row in range(len(phase)):
        start[min(max(int(phase[row] * per_radian), 0), n_cells - 1) + 1] += 1
    for cell in range(n_cells):
        start[cell + 1] += start[cell]
    following = start.copy()
    for row in range(len(phase)):
        x = phase[row] * per_radian
        cell = min(max(int(x), 0), n_cells - 1)
        place[row] = following[cell]
        local[following[cell]] = 2 * (x - cell) - 1
        following[cell] += 1


@njit(nogil=True, error_model="numpy")
def move(values, place, result):
    """Values at their places."""
    for row in range(len(place)):
        result[place[row]] = values[row]
