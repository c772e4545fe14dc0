"""Pages of regressors that belong to no table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from torusgp.checks import check_output, to_floats
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.storage.files import check_places, write_together
from torusgp.views.findings import Findings
from torusgp.views.metrics import deviances
from torusgp.views.record import Record
from torusgp.views.report._page import render_page
from torusgp.views.report._subject import Subject
from torusgp.views.scores import COVERAGE, LEVELS, Scores
from torusgp.views.summary import summarise_regressor

_HALF = ndtri(0.5 + COVERAGE / 2)


def write_report(
    model: TorusGPRegressor,
    path: str | Path,
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    target: str | None = None,
    unit: str = "",
    input_units: Mapping[str, str] | None = None,
    output: int = 0,
) -> Path:
    """Write a page about a fitted regressor, to open in a browser; see :meth:`torusgp.TableModel.report` for tables.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    path : str or Path
        File to write, such as ``report.html``, whole or not at all. Missing folders are created.
    X, y : array-like, optional
        Rows to evaluate its predictions on, which it was **not** fitted to. Without them the page does not say how good
        predictions are.
    title : str, optional
        Heading of the page.
    target, unit : str, optional
        Name and unit of the target; by default the name that y has.
    input_units : mapping of str to str, optional
        Units of inputs, by their names.
    output : int, default=0
        Which target, where there are several.

    Returns
    -------
    Path

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 24, (300, 1))
    >>> y = np.sin(2 * np.pi * X[:, 0] / 24) + 0.1 * rng.normal(size=300)
    >>> model = TorusGPRegressor(period=24).fit(X[:200], y[:200])
    >>> write_report(model, "report.html", X[200:], y[200:], unit="m")  # doctest: +SKIP
    PosixPath('report.html')
    """
    if not isinstance(model, TorusGPRegressor):
        raise TypeError(
            f"model must be a TorusGPRegressor, got {type(model).__name__}. The page of a table model is written by "
            "its method report."
        )
    check_is_fitted(model, "statistics_")
    if (X is None) != (y is None):
        raise ValueError(f"X and y must be given together, got {'y' if X is None else 'X'} alone.")
    check_output(output, model.fitted_.n_outputs)
    if input_units is not None and not isinstance(input_units, Mapping):
        raise ValueError(f"input_units must be a dictionary of units by input, got {input_units!r}.")
    path = Path(path)
    check_places([path])
    target = str(getattr(y, "name", None) or "target") if target is None else target
    scores, record = (None, None) if X is None else _evaluate(model, X, y, output)
    summary = summarise_regressor(model, scores, target=target, unit=unit, output=output)
    subject = Subject(model, Findings.from_summary(summary), record, output=output, input_units=dict(input_units or {}))
    write_together({path: render_page(subject, title).encode("utf-8")})
    return path


def _evaluate(model: TorusGPRegressor, X: Any, y: Any, output: int) -> tuple[Scores, Record]:
    """Scores of predictions on rows, and these rows."""
    observed = to_floats(y, "y")
    n_outputs = model.fitted_.n_outputs
    if observed.shape not in ((len(X), n_outputs), (len(X),) if n_outputs == 1 else ()):
        raise ValueError(
            f"y must have {n_outputs} target(s) of each row of X, as the model was fitted to; got shapes "
            f"{np.shape(X)} and {observed.shape}."
        )
    observed = observed.reshape(len(observed), -1)[:, output]
    bad = ~np.isfinite(observed)
    if bad.any():
        raise ValueError(
            f"y must be finite: {bad.sum()} of {len(bad)} rows miss a value, the first is row {int(bad.argmax())} "
            "(counted from 0). Leave them out."
        )
    with warnings.catch_warnings():
        # inputs are in the order of fitting; names would need the library that the names came from
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        if model.likelihood_.name == "normal":
            mean, std = (each.reshape(len(observed), -1)[:, output] for each in model.predict(X, return_std=True))
            low, high = mean - _HALF * std, mean + _HALF * std
            scores = Scores.from_predictions(observed, mean, std, "given to the report")
        else:
            mean = model.predict(X)
            low, high = model.predict_quantiles(X, [0.025, 0.975]).T
            scores = Scores.from_predictions(
                observed,
                mean,
                np.full(len(mean), np.inf),
                "given to the report",
                quantiles=model.predict_quantiles(X, LEVELS),
                log_density=model.log_predictive_density(X, observed),
                likelihood=model.likelihood_,
                deviances=deviances(model.likelihood_, observed, mean),
            )
    rows = np.asarray(X)
    names = [str(one) for one in model.fitted_.prior.torus.names]
    single = rows.shape[1] == 1 and rows.dtype.kind in "fiu"
    return scores, Record.from_rows(
        observed,
        along=names[0] if single else "",
        place=rows[:, 0] if single else None,
        unseen=np.ones(len(observed), dtype=bool),
        predicted=(mean, low, high),
        inputs=dict(zip(names, rows.T, strict=False)),
    )
