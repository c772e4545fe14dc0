"""The page put together, and written."""

import base64
import hashlib
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from sklearn.utils.validation import check_is_fitted

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.storage.files import check_places, write_together
from torusgp.views.plotting._base import check_matplotlib
from torusgp.views.report._attribution import attribution
from torusgp.views.report._effects import interactions, main_effects
from torusgp.views.report._markup import Markup, element, join
from torusgp.views.report._parameters import parameters
from torusgp.views.report._predictions import predictions
from torusgp.views.report._spectrum import spectrum
from torusgp.views.report._subject import Subject
from torusgp.views.report._summary import opening, summary

_SECTIONS = {
    "effects": ("Effects", main_effects),
    "interactions": ("Interactions", interactions),
    "attribution": ("What matters", attribution),
    "predictions": ("Predictions", predictions),
    "parameters": ("Parameters", parameters),
    "spectrum": ("Spectrum", spectrum),
}


def render_report(
    model,
    X=None,
    y=None,
    *,
    holdout=None,
    title=None,
    input_names=None,
    input_units=None,
    target_names=None,
    target_units=None,
    fit_seconds=None,
    details=None,
    n_rows=None,
    judgement=None,
    noise_std=None,
    predicted_std=None,
    offset=None,
    whole_days=None,
    notes=(),
):
    """A page about a fitted regressor, as HTML.

    The same model and arguments give the same page. It is complete in itself: styles, scripts and images are inside,
    and a policy in its head forbids browsers to load anything else.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    X, y : array-like, optional
        Rows to compare predictions with, best ones that the model was not fitted to. Without them the page has no
        section on predictions.
    holdout : bool, optional
        Whether the model was not fitted to these rows. The page says which, or that it was not said; rows that are
        evidently those of the fit are called so.
    title : str, optional
        Heading of the page.
    input_names, input_units : sequence of str, optional
        Name and unit of each column of X, None or "" for none. Names are those of fitting by default. Columns named
        as :class:`torusgp.CalendarPhases` names them ("hour_of_day", "day_of_week", "day_of_year") are shown
        as times, weekdays and dates.
    target_names, target_units : str or sequence of str, optional
        Name and unit of each target; by default the names that y brings.
    fit_seconds : float, optional
        How long the fit took.
    details : dict of str to str, optional
        More lines of the table of facts, such as the date or the file of the data. One that the page has, too, takes
        its place.
    n_rows : int, optional
        How many rows the model was fitted to, where each had the same weight. By default the sum of their weights, if
        it is a whole number.
    judgement : torusgp.views.scores.Scores, optional
        How predictions fared on rows that were held out when the model was fitted, such as ``scores_`` of a
        :class:`torusgp.TableModel`.
    noise_std : float or array-like of shape (n_outputs,), optional
        Standard deviation of the noise of a typical row, where rows differ in it; by default that of the model.
    predicted_std : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
        Standard deviations of predicted observations of the rows of X, where more is known of these than the model
        knows, such as their own noise.
    offset : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
        What was taken off the targets y before the model saw them, such as a line in time. Rows are compared as they
        were, with it added to y and to the predictions of the model.
    whole_days : bool, optional
        Whether a column "day_of_week" counts whole days, or moves on with the hour of the day. By default the rows of
        X, or else the sums of the model, tell.
    notes : sequence of str, default=()
        More lines of what to bear in mind.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 24, (300, 1))
    >>> y = np.sin(2 * np.pi * X[:, 0] / 24) + 0.1 * rng.normal(size=300)
    >>> model = TorusGPRegressor(period=24).fit(X[:200], y[:200])
    >>> page = render_report(model, X[200:], y[200:], holdout=True, input_names=["hour <UTC>"], input_units=["h"])
    >>> "hour &lt;UTC&gt;" in page
    True
    """
    if not isinstance(model, TorusGPRegressor):
        raise TypeError(f"model must be a TorusGPRegressor, got {type(model).__name__}.")
    check_is_fitted(model, "statistics_")
    check_matplotlib()
    subject = Subject.from_model(
        model,
        X,
        y,
        holdout,
        input_names=input_names,
        input_units=input_units,
        target_names=target_names,
        target_units=target_units,
        n_rows=n_rows,
        judgement=judgement,
        noise_std=noise_std,
        predicted_std=predicted_std,
        offset=offset,
        whole_days=whole_days,
    )
    title = "What the model learned" if title is None else str(title)
    sections = {key: (name, build(subject)) for key, (name, build) in _SECTIONS.items()}
    sections = {key: pair for key, pair in sections.items() if pair[1] is not None}
    body = join(
        [
            element(
                "header",
                element("h1", title),
                element("p", opening(subject), class_="opening"),
                _output_choice(subject),
            ),
            element(
                "section", element("h2", "In short"), summary(subject, _version(), fit_seconds, details or {}, notes)
            ),
            element(
                "nav",
                *(element("a", name, href=f"#{key}", id=f"tab-{key}") for key, (name, _) in sections.items()),
                id="tabs",
                aria_label="Sections",
            ),
            element("main", *(_section(key, *pair) for key, pair in sections.items())),
            element("footer", f"Made by torusgp {_version()}. This page loads nothing from anywhere."),
            element("div", id="tip", role="status", hidden=True),
        ]
    )
    return _page(title, body)


def write_report(model, path, X=None, y=None, **arguments):
    """Write a page about a fitted regressor to a file, whole or not at all.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    path : str or Path
        File to write, such as ``report.html``. Missing folders are created, and a file that is there is replaced.
    X, y, **arguments
        See :func:`render_report`.

    Returns
    -------
    Path
    """
    path = Path(path)
    check_places([path])
    write_together({path: render_report(model, X, y, **arguments).encode("utf-8")})
    return path


def _section(key, name, content):
    return element("section", element("h2", name), content, id=key, aria_labelledby=f"tab-{key}")


def _output_choice(subject):
    """A list to choose a target from, which the page's script shows."""
    if len(subject.targets) == 1:
        return None
    options = [element("option", subject.targets[q].name, value=q, selected=q == 0) for q in subject.drawn_outputs]
    options.append(element("option", "all of them", value="all"))
    return element(
        "p", element("label", "Target: ", element("select", *options, id="output")), id="choice", hidden=True
    )


def _page(title, body):
    style, script = (Markup(_asset(name)) for name in ("style.css", "script.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", style),
    )
    body = element("body", body, element("script", script))
    return str(f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n")


def _asset(name):
    return files("torusgp.views.report").joinpath(name).read_text(encoding="utf-8")


def _version():
    try:
        return version("torusgp")
    except PackageNotFoundError:  # the source without an installation
        return "of unknown version"
