"""Inputs in files of layout 1 and 2, where periods and cycles were apart from the terms beside their product."""

from torusgp.kernels.axes import Circle, Product
from torusgp.storage.serialisation import from_json
from torusgp.tables.calendar import CYCLES

FARTHEST = 2.0  # factor by which a learned period may be another than the one given


def upgrade_model(content, calendar):
    """The model of inputs that an earlier version wrote.

    Parameters
    ----------
    content : dict
        What the file says of the inputs.
    calendar : tuple or None
        Column of times, and cycles.

    Returns
    -------
    Expression
    """
    cycles = [] if calendar is None else [CYCLES[cycle] for cycle in calendar[1]]
    pairs = [*content["dimensions"], *((cycle.column, cycle.period) for cycle in cycles)]
    product = Product(tuple(_circle(name, period, name in content["learned"]) for name, period in pairs))
    terms = from_json(content.get("terms"))
    return product if terms is None else product + terms


def _circle(name, period, is_learned):
    around = is_learned and period != "auto"
    return Circle(name, period, period_bounds=(period / FARTHEST, period * FARTHEST) if around else None)
