"""Numbers as people read them."""

import numpy as np

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
TIMES, MINUS, _SPACE = "\N{MULTIPLICATION SIGN}", "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"


def number(value, digits=4):
    """A number with so many significant digits; whole digits are never dropped below a million.

    Examples
    --------
    >>> number(35088), number(0.123456), number(1234.56), number(2.5e-9).replace(TIMES, "x")
    ('35,088', '0.1235', '1,235', '2.5 x 10⁻⁹')
    """
    value = float(value)
    if not np.isfinite(value):
        return "not a number" if np.isnan(value) else f"{MINUS if value < 0 else ''}infinity"
    if value == 0:
        return "0"
    exponent = int(f"{abs(value):.{digits - 1}e}".partition("e")[2])
    if value == round(value) and abs(value) < 1e15 and (exponent < 7 or digits > exponent):
        return f"{value:,.0f}".replace("-", MINUS)
    if -4 <= exponent < 7:
        text = f"{value:,.{max(0, digits - 1 - exponent)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return text.replace("-", MINUS)
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa} {TIMES} 10{str(int(power)).translate(_SUPERSCRIPTS)}".replace("-", MINUS)


def decimal(value):
    """A number with one digit after the point.

    Examples
    --------
    >>> decimal(12476.279)
    '12,476.3'
    """
    return f"{value:,.1f}".replace("-", MINUS)


def or_below(value, floor=1e-12):
    """A small number to two digits, or that it is less than rounding errors are.

    Examples
    --------
    >>> or_below(0.000236), or_below(2.5e-31)
    ('0.00024', 'below 10⁻¹²')
    """
    if value >= floor:
        return number(value, 2)
    return f"below 10{str(round(np.log10(floor))).translate(_SUPERSCRIPTS)}"


def with_error(value, error):
    """A number and its standard error, to the second digit of the error.

    Examples
    --------
    >>> with_error(24.00312, 0.00213), with_error(1234.5, 120.0), with_error(7.0, 0.0)
    ('24.0031 ± 0.0021', '1,234 ± 120', '7')
    """
    if not (np.isfinite(value) and np.isfinite(error) and error > 0):
        return number(value, 6)
    exponent = int(f"{error:.1e}".partition("e")[2])
    decimals = max(0, 1 - exponent)
    if decimals > 12 or max(abs(value), error) >= 1e7:
        return f"{number(value, 6)} ± {number(error, 2)}"
    return f"{value:,.{decimals}f} ± {error:,.{decimals}f}".replace("-", MINUS)


def digits_for(values, resolution):
    """Significant digits that tell values apart which differ by a tenth of a resolution; at least four.

    Examples
    --------
    >>> digits_for([293.15, 294.2], 0.01), digits_for([0.5], 0.1)
    (7, 4)
    """
    largest = float(np.max(np.abs(values), initial=0.0))
    if not (largest > 0 and resolution > 0):
        return 4
    return int(np.clip(2 + np.ceil(np.log10(largest / resolution)), 4, 12))


def quantity(value, unit, digits=3):
    """A number with its unit, if it has one."""
    return with_unit(number(value, digits), unit)


def with_unit(text, unit):
    """Text of a number with its unit, if it has one."""
    return f"{text}{_SPACE}{unit}" if unit else text


def signed(value, digits=3):
    """A number with its sign."""
    text = number(value, digits)
    return text if text.startswith(MINUS) or text == "0" else f"+{text}"


def percent(share, digits=1):
    r"""A share in per cent, or as less than what so many digits after the point show.

    Examples
    --------
    >>> [percent(share).replace("\N{NO-BREAK SPACE}", " ") for share in (0.7123, 0.00001, 0)]
    ['71.2 %', '< 0.1 %', '0 %']
    """
    if 0 < share < 0.5 * 10.0 ** -(digits + 2):
        return f"< {10.0**-digits:g}{_SPACE}%"
    text = f"{100 * share:.{digits}f}".replace("-", MINUS)
    return f"{text if share else '0'}{_SPACE}%"


def listed(parts):
    """Pieces of a sentence with commas and an "and"."""
    parts = list(parts)
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def count(value, singular, plural=None):
    """A number of things.

    Examples
    --------
    >>> count(1, "row"), count(35088, "row")
    ('1 row', '35,088 rows')
    """
    return f"{number(value, 6)} {singular if value == 1 else plural or singular + 's'}"
