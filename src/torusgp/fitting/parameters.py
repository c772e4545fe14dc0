"""Numbers that are learned: their values, their bounds, and the vector of logarithms that an optimiser moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Parameter:
    """Positive numbers with bounds, some or all of which are learned.

    Attributes
    ----------
    value, lower, upper : ndarray of one shape
        Values and their bounds.
    learned : ndarray of bool
        Which of them are learned.
    """

    value: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    learned: NDArray[np.bool_]

    @classmethod
    def make(cls, value: Any, bounds: Any = None, learned: Any = True) -> Parameter:
        """Parameter from what broadcasts to the shape of its value; without bounds it is not learned."""
        value = np.array(value, dtype=float)
        lower, upper = (value, value) if bounds is None else (np.asarray(bound, dtype=float) for bound in bounds)
        shape = value.shape
        return cls(
            value,
            np.broadcast_to(lower, shape),
            np.broadcast_to(upper, shape),
            np.broadcast_to(np.asarray(learned, dtype=bool) & (bounds is not None), shape),
        )


class Parameters(Mapping[str, Any]):
    """Named parameters, and the period of the torus, whose steps an optimiser takes beside them.

    ``parameters[name]`` is a value. Everything is replaced, never changed.

    Parameters
    ----------
    entries : dict of Parameter
        By name.
    period : ndarray of shape (dimension,) or (dimension, dimension)
        Periods or cell of the axes.
    """

    def __init__(self, entries: Mapping[str, Parameter], period: NDArray[np.float64]):
        self._entries = dict(entries)
        self.period = period

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        return self._entries[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def entry(self, name: str) -> Parameter:
        """Value, bounds and what is learned of one parameter."""
        return self._entries[name]

    def with_period(self, period: NDArray[np.float64]) -> Parameters:
        """The same with another period."""
        return Parameters(self._entries, period)

    def with_value(self, name: str, value: Any) -> Parameters:
        """The same with another value of one parameter, which may have another length."""
        old = self._entries[name]
        value = np.array(value, dtype=float)
        if value.shape != old.value.shape:  # one number for all, or all from one number
            old = Parameter.make(value, (_resized(old.lower, value), _resized(old.upper, value)), old.learned.any())
        return Parameters({**self._entries, name: replace(old, value=value)}, self.period)

    def with_upper(self, name: str, upper: NDArray[np.float64]) -> Parameters:
        """The same with other upper bounds of one parameter."""
        old = self._entries[name]
        return Parameters({**self._entries, name: replace(old, upper=np.maximum(upper, old.lower))}, self.period)

    def with_given(self, name: str) -> Parameters:
        """The same with one parameter that is not learned."""
        old = self._entries[name]
        return Parameters({**self._entries, name: replace(old, learned=np.zeros_like(old.learned))}, self.period)

    def fixed(self) -> Parameters:
        """The same with nothing to learn."""
        entries = {name: replace(one, learned=np.zeros_like(one.learned)) for name, one in self._entries.items()}
        return Parameters(entries, self.period)

    def with_learned(self, learned: Mapping[str, NDArray[np.bool_]]) -> Parameters:
        """The same with something else to learn."""
        entries = {name: replace(one, learned=learned[name]) for name, one in self._entries.items()}
        return Parameters(entries, self.period)

    def to_vector(self) -> NDArray[np.float64]:
        """Logarithms of what is learned, one after the other."""
        return np.log(self._gather(lambda one: one.value))

    def with_vector(self, vector: NDArray[np.float64]) -> Parameters:
        """What is learned replaced by the exponentials of a vector."""
        entries, start = {}, 0
        for name, one in self._entries.items():
            count = int(one.learned.sum())
            value = one.value
            if count:
                value = value.copy()
                value[one.learned] = np.exp(vector[start : start + count])
            entries[name] = replace(one, value=value)
            start += count
        return Parameters(entries, self.period)

    def limits(self) -> NDArray[np.float64]:
        """Bounds of the vector, shape (n_learned, 2)."""
        return np.log(np.stack([self._gather(lambda one: one.lower), self._gather(lambda one: one.upper)], axis=1))

    def pack(self, gradient: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Vector of derivatives, from those in the logarithms of all parameters by name."""
        return np.concatenate([[], *(gradient[name][one.learned] for name, one in self._entries.items())])

    def _gather(self, attribute: Any) -> NDArray[np.float64]:
        return np.concatenate([[], *(attribute(one)[one.learned] for one in self._entries.values())])


def _resized(bound: NDArray[np.float64], value: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.broadcast_to(bound.ravel()[0], value.shape)
