"""Files of models of tables: those of their regressors, whose notes say what the inputs are."""

import tempfile
from pathlib import Path

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.storage.archives import archive_kind, check_layout, decoding, load_archive
from torusgp.storage.serialisation import from_json, to_json
from torusgp.tables.backtest import Backtest
from torusgp.tables.inputs import TableInputs
from torusgp.tables.models._slopes import SlopeEstimate
from torusgp.tables.timeline import Timeline
from torusgp.views.findings import Finding
from torusgp.views.record import Record
from torusgp.views.scores import Scores
from torusgp.views.summary import to_plain

PANEL, PANEL_LAYOUT = "PanelModel", 2  # files with several models
_LAYOUT = 4  # of the notes in the file


def load_regressor(path):
    """Read a regressor from a file, with one line for whatever is wrong with it.

    Parameters
    ----------
    path : str or path
        The file; of one with a model for each level of a column, the file, a colon and the level.

    Returns
    -------
    TorusGPRegressor
    """
    whole, sign, level = str(path).rpartition(":")
    if sign and not Path(path).exists() and Path(whole).is_file():
        return _load_level(Path(whole), level)
    check_file(path)
    if is_panel(path):
        content, _ = load_archive(path, PANEL, PANEL_LAYOUT)
        raise ValueError(
            f"{path} has a model for each of {len(content['levels'])} values of {content['by']!r}, which predict and "
            f"forecast take together. For one of them write {path}:{content['levels'][0]}."
        )
    return TorusGPRegressor.load(path)


def is_panel(path):
    """Whether a file has several models."""
    return Path(path).is_file() and archive_kind(path) == PANEL


def check_file(path):
    """Raise if there is no such file."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not the file of a model.")


def _load_level(path, level):
    """The regressor of one level of a file with several."""
    content, arrays = load_archive(path, PANEL, PANEL_LAYOUT)
    if level not in content["levels"]:
        known = ", ".join(content["levels"])
        raise ValueError(f"{path} has no model of {content['by']} {level!r}; it has those of {known}.")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / path.name
        place.write_bytes(arrays[f"model_{content['levels'].index(level)}"].tobytes())
        return TorusGPRegressor.load(place)


def to_notes(table, notes):
    """What the file of a regressor says of the table whose model it is; see :meth:`TableModel.save`."""
    summary = table.summary()  # first: it says so if the model is not fitted
    return {
        "layout": _LAYOUT,
        "parameters": to_plain(table.get_params() | {"verbose": 0, "terms": to_json(table.terms)}),
        "inputs": table.inputs_.to_json(),
        "slopes": [slope.to_json() for slope in table.slopes_],
        "typical_scale": table._typical_scale,
        "timeline": None if table.timeline_ is None else table.timeline_.to_json(),
        "evaluation": None if table.evaluation_ is None else to_plain(table.evaluation_.to_json()),
        "summary": summary,
        "record": table.record_.to_json(),
        "notes": {} if notes is None else notes,
    }


def from_notes(kind, model, path):
    """A table model of a kind, from a regressor whose notes say what its inputs are; see ``from_regressor``."""
    content = model.notes_.get("table") if isinstance(model.notes_, dict) else None
    if content is None:
        raise ValueError(
            f"{path} holds a TorusGPRegressor that does not know the columns of a table: it was not written by "
            "torusgp fit. Use it from Python with TorusGPRegressor.load."
        )
    with decoding(path):
        check_layout(path, content["layout"], _LAYOUT)
        table = kind(**(content["parameters"] | {"terms": from_json(content["parameters"]["terms"])}))
        table.model_, table.inputs_ = model, TableInputs.from_json(content["inputs"])
        table.slopes_ = [SlopeEstimate(**one) for one in content["slopes"]]
        stored_names = list(getattr(model, "feature_names_in_", ()))
        if table.inputs_.names != stored_names:
            raise ValueError(f"its table has the inputs {table.inputs_.names}, its regressor {stored_names}.")
        table._typical_scale = content["typical_scale"]
        table.timeline_ = None if content["timeline"] is None else Timeline.from_json(content["timeline"])
        table._set_noise_factor()
        table._summary, table.notes_ = content["summary"], content["notes"]
        rows, holdout = table._summary["rows"], table._summary["holdout"]
        table.n_rows_, table.n_dropped_ = rows["fitted"], rows["dropped"]
        table.redundancy_, table.n_effective_ = rows["redundancy"], rows["effective"]
        table.scores_ = None if holdout is None else Scores.from_json(holdout)
        evaluation = content["evaluation"]
        table.evaluation_ = None if evaluation is None else Backtest.from_json(evaluation)
        table.is_refitted_ = table._summary["is_refitted"]
        table.quality_ = table._summary["quality"]
        table.findings_ = [Finding(**one) for one in table._summary["findings"]]
        table.record_ = Record.from_json(content["record"])
    return table
