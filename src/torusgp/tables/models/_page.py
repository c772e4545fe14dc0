"""Pages of models of tables."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from torusgp.checks import check_flag
from torusgp.storage.files import check_places, write_together
from torusgp.tables.forecast import HIGH, LOW, forecast_ahead, predict_rows
from torusgp.tables.inputs import numbered, to_table
from torusgp.tables.models._record import make_record
from torusgp.views.findings import NOTE, Findings
from torusgp.views.numbers import number, with_error
from torusgp.views.record import to_milliseconds
from torusgp.views.report._axes import Clock
from torusgp.views.report._page import render_page
from torusgp.views.report._subject import Future, Horizons, Subject

_WORSE = 1.5  # times as large as errors of rows held out are those of new rows that call for a note
_SAME = 1e-9  # relative difference of means of the same rows


def write_page(table, path, frame=None, *, new_rows=None, title=None, source=None):
    """Write a page about a table model, see :meth:`TableModel.report`; returns its findings."""
    path = Path(path)
    check_places([path])
    summary, record = table.summary(), table.record_
    if frame is not None:
        frame, source = to_table(frame, source, table.missing)
        summary, record = _compared(table, frame, source, new_rows)
    found = Findings.from_summary(summary, table.unit)
    subject = Subject(
        table.model_,
        found,
        record,
        None if frame is not None or table.inputs_.time is None else _future(table),
        horizons=_horizons(table) if record is table.record_ else None,
        clocks=_clocks(table),
        whole_days=bool(table.inputs_.whole_days) or "day" not in (table.inputs_.calendar or ("", ()))[1],
        tables={"Inputs that repeat": _input_table(summary)} if summary["inputs"] else {},
    )
    write_together({path: render_page(subject, title).encode("utf-8")})
    return found


def _future(table):
    """Forecast of what comes next; None where there is none, which the findings tell."""
    ahead = forecast_ahead(table)
    if isinstance(ahead, str):
        return None
    place = to_milliseconds(ahead.times) if ahead.times.dtype.kind == "M" else ahead.times.to_numpy(dtype=float)
    return Future(place, ahead.mean, ahead.quantiles[:, 0], ahead.quantiles[:, -1])


def _horizons(table):
    """Errors by how far ahead, beside those of a seasonal naive forecast."""
    found = table.evaluation_
    if found is None or len(found.by_horizon) < 2:
        return None
    steps = np.array([(one.first + one.last) / 2 for one in found.by_horizon])
    rmse, naive = (np.array([getattr(one, of).rmse for one in found.by_horizon]) for of in ("scores", "naive"))
    return Horizons(steps, rmse, naive, found.step, found.season)


def _compared(table, frame, source, new_rows):
    """Summary and record with the rows of a table in place of those held out."""
    if new_rows is not None:
        check_flag(new_rows, "new_rows")
    rows = table._read_targets(frame, source)
    if rows.order is None and table.inputs_.time is not None:
        frame = numbered(frame, source)  # as the rows are
        columns = table.inputs_.read(frame, source)
        order = table.inputs_.read_order(frame, source, columns)
        rows = replace(rows, order=order.loc[rows.X.index])
    rows = rows.sorted()
    summary = table.summary()
    mean = table.quality_.get("mean")
    is_same = mean is not None and len(rows.y) == table.n_rows_ and np.isclose(rows.y.mean(), mean, rtol=_SAME)
    if is_same if new_rows is None else not new_rows:
        return summary, table.record_
    scores = table._score(rows, "given to the report, which are new to the model")
    findings = list(summary["findings"])
    if table.scores_ is not None and scores.rmse > _WORSE * table.scores_.rmse:
        text = (
            f"Errors of the rows given to the report are {number(scores.rmse / table.scores_.rmse, 2)} times as large "
            "as those of the rows held out at the fit: has something changed since?"
        )
        findings.append({"level": NOTE, "about": "predictions", "text": text})
    changed = {"holdout": scores.to_json(), "explains_nothing": scores.explains_nothing, "findings": findings}
    if rows.order is not None and rows.order.isna().any():  # pictures are drawn along the time
        is_timed = rows.order.notna().to_numpy()
        rows = rows.take(is_timed) if is_timed.any() else replace(rows, order=None)
    predicted = predict_rows(table, rows, (LOW, HIGH))
    return summary | changed, make_record(rows, np.ones(len(rows.y), dtype=bool), predicted)


def _clocks(table):
    """Inputs of the model that are times, with the moment that they count from."""
    axis = table.inputs_.axis
    if axis is None or axis.kind == "number" or not table.inputs_.needs_time:
        return {}
    zero = np.datetime64(axis.zero.partition("+")[0], "ms")
    return {table.inputs_.time: Clock(float(zero.astype(np.int64)))}


def _input_table(summary):
    """Periods and length scales."""
    rows = [["input", "period", "length scale"]]
    for one in summary["inputs"]:
        bound = {"lower": " (least allowed)", "upper": " (largest allowed)"}.get(one.get("length_scale_bound"), "")
        period = with_error(one["period"], one["period_std"])
        scale = with_error(one["length_scale"], one["length_scale_std"])
        rows.append([one["name"], f"{period} ({one['period_is']})", f"{scale}{bound}"])
    return rows
