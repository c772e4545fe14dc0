"""Numbers formatted for readers."""

import numpy as np

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MANY_TIMES = 10.0  # from which on per cent are hard to read
TIMES = "\N{MULTIPLICATION SIGN}"


def number(value, digits=4):
    """A number with the given significant digits; whole digits are never dropped below a million.

    Examples
    --------
    >>> number(35088), number(0.123456), number(1234.56), number(2.5e-9).replace(TIMES, "x")
    ('35,088', '0.1235', '1,235', '2.5 x 10⁻⁹')
    """
    value = float(value)
    if not np.isfinite(value):
        return "not a number" if np.isnan(value) else f"{'-' if value < 0 else ''}infinity"
    if value == 0:
        return "0"
    exponent = int(f"{abs(value):.{digits - 1}e}".partition("e")[2])
    if value == round(value) and abs(value) < 1e15 and (exponent < 7 or digits > exponent):
        return f"{value:,.0f}"
    if -4 <= exponent < 7:
        text = f"{value:,.{max(0, digits - 1 - exponent)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return text
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa} {TIMES} 10{str(int(power)).translate(_SUPERSCRIPTS)}"


def with_error(value, error):
    """A number and its standard error, if it is known, to the second digit of the error.

    Examples
    --------
    >>> with_error(24.00312, 0.00213), with_error(1234.5, 120.0), with_error(7.0, 0.0)
    ('24.0031 ± 0.0021', '1,234 ± 120', '7')
    """
    if error is None or not (np.isfinite(value) and np.isfinite(error) and error > 0):
        return number(value, 6)
    exponent = int(f"{error:.1e}".partition("e")[2])
    decimals = max(0, 1 - exponent)
    if decimals > 12 or max(abs(value), error) >= 1e7:
        return f"{number(value, 6)} ± {number(error, 2)}"
    return f"{value:,.{decimals}f} ± {error:,.{decimals}f}"


def quantity(value, unit, digits=3):
    """A number with its unit, if it has one."""
    return with_unit(number(value, digits), unit)


def with_unit(text, unit):
    """Text of a number with its unit, if it has one."""
    return f"{text} {unit}" if unit else text


def signed(value, digits=3):
    """A number with its sign."""
    text = number(value, digits)
    return text if text.startswith("-") or text == "0" else f"+{text}"


def percent(share, digits=1):
    """A share in per cent, or as less than what the digits after the point show.

    Examples
    --------
    >>> [percent(share) for share in (0.7123, 0.00001, 0)]
    ['71.2 %', '< 0.1 %', '0 %']
    """
    if 0 < share < 0.5 * 10.0 ** -(digits + 2):
        return f"< {10.0**-digits:g} %"
    text = f"{100 * share:.{digits}f}"
    return f"{text if share else '0'} %"


def ratio(share, whole):
    """Size of something beside a whole, in words: a share of it, or a multiple.

    Examples
    --------
    >>> [ratio(share, "the noise") for share in (0.07, 1.2, 342405.93)]
    ['7 % of the noise', '120 % of the noise', '342,406 times the noise']
    """
    return f"{percent(share, 0)} of {whole}" if share < _MANY_TIMES else f"{number(share, 3)} times {whole}"


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
