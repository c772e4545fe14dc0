"""Checks of the parameters of a model of a table."""

from torusgp.fitting.likelihoods import check_likelihood


def check_parameters(table, inputs):
    """Raise if a parameter of a model of a table does not fit the inputs, or the others."""
    if not isinstance(table.target, str) or not table.target:
        raise ValueError(f"target must be the name of a column, got {table.target!r}.")
    if table.target in [*inputs.columns, *([inputs.time] if inputs.needs_time else [])]:
        raise ValueError(f"Column {table.target!r} is the target, so it cannot be an input.")
    if table.noise is not None and (not isinstance(table.noise, str) or table.noise == table.target):
        raise ValueError(f"noise must be the name of a column other than the target, got {table.noise!r}.")
    likelihood = check_likelihood(table.likelihood)
    for name, meaning in (("noise", "noise_scale"), ("exposure", "exposure")):
        if getattr(table, name) is not None and likelihood.takes != meaning:
            raise ValueError(f"likelihood={likelihood.name!r} has no {name}: leave out the column of it.")
    if table.noise_by:
        if likelihood.takes != "noise_scale" or table.noise is not None:
            raise ValueError("noise_by is for targets with normal or Student's noise of unknown size.")
        unknown = [name for name in table.noise_by if inputs.input_name(name) not in inputs.names]
        if unknown:
            raise ValueError(f"noise_by names {unknown[0]!r}, which is no input: they are {', '.join(inputs.names)}.")
    if table.errors not in ("auto", "independent"):
        raise ValueError(f"errors must be 'auto' or 'independent', got {table.errors!r}.")
