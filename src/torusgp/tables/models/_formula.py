"""Formulas: sums of products of inputs, such as ``hour * temperature + hour * weekday + time``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from torusgp.kernels.axes import Expression

_TOKEN = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|`([^`]*)`|([+*(),])|([^+*(),"'`]+))""")
_EXAMPLE = "A formula is a sum of products of inputs, such as hour * temperature + hour * weekday + time"


@dataclass(frozen=True)
class _Token:
    text: str
    is_name: bool
    place: int


def parse_formula(
    text: str, leaf: Callable[[str], Expression], call: Callable[[str, list[str]], Expression]
) -> Expression:
    """Expression of a formula.

    Parameters
    ----------
    text : str
        Names with ``+`` and ``*`` between them, parentheses, and functions such as ``circle(angle, 360)``. Names may
        have spaces; those with signs of formulas are put into quotes.
    leaf : callable
        Makes an expression of a name.
    call : callable
        Makes an expression of the name of a function and its arguments.

    Returns
    -------
    Expression

    Examples
    --------
    >>> from torusgp import Line
    >>> parse_formula("(a + 'b+c') * wind speed", Line, None)
    Line('a') * Line('wind speed') + Line('b+c') * Line('wind speed')
    """
    return _Parser(text, leaf, call).parse()


class _Parser:
    def __init__(self, text, leaf, call):
        self._text, self._leaf, self._call = text, leaf, call
        self._tokens, self._position = list(_tokens(text)), 0

    def parse(self):
        if not self._tokens:
            raise ValueError(f"The formula is empty. {_EXAMPLE}.")
        result = self._sum()
        if self._next() is not None:
            raise self._unexpected()
        return result

    def _sum(self):
        result = self._product()
        while self._take("+"):
            result = result + self._product()
        return result

    def _product(self):
        result = self._factor()
        while self._take("*"):
            result = result * self._factor()
        return result

    def _factor(self):
        if self._take("("):
            result = self._sum()
            if not self._take(")"):
                raise ValueError(f"The formula {self._text!r} has a parenthesis that is not closed.")
            return result
        name = self._name()
        if not self._take("("):
            return self._leaf(name)
        arguments = [self._name()]
        while self._take(","):
            arguments.append(self._name())
        if not self._take(")"):
            raise self._unexpected()
        return self._call(name, arguments)

    def _name(self):
        token = self._next()
        if token is None or not token.is_name:
            raise self._unexpected()
        self._position += 1
        return token.text

    def _next(self):
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def _take(self, sign):
        token = self._next()
        found = token is not None and not token.is_name and token.text == sign
        self._position += found
        return found

    def _unexpected(self):
        token = self._next()
        where = "ends too early" if token is None else f"has {token.text!r} where it should not, at {token.place + 1}"
        return ValueError(f"The formula {self._text!r} {where}. {_EXAMPLE}; names with other characters need quotes.")


def _tokens(text):
    place = 0
    while place < len(text) and text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"The formula {text!r} has a quote that is not closed.")
        *quoted, sign, name = match.groups()
        found = next((one for one in quoted if one is not None), None)
        if found is not None:
            yield _Token(found, True, place)
        elif sign is not None:
            yield _Token(sign, False, match.start(4))
        elif name.strip():
            yield _Token(name.strip(), True, match.start(5))
        place = match.end()
