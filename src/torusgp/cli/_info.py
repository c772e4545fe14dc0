"""``torusgp info``: what is in a model file."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from torusgp.cli._console import exit_on_error, print_json, printable
from torusgp.cli._options import Debug, Json
from torusgp.cli._summary import print_levels, print_summary
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.tables.model import TableModel, is_panel, load_regressor
from torusgp.tables.panel import PanelModel
from torusgp.views.dimensions import frequencies_by_order
from torusgp.views.selection import selection_summary
from torusgp.views.summary import to_plain

HELP = """Say what is in a model file: inputs, periods, length scales, noise, and how good it is.

\b
Example:
  torusgp info model.npz
"""


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File of a model.")],
    as_json: Json = False,
    debug: Debug = False,
):
    with exit_on_error(debug):
        content = file_info(model)
        if as_json:
            print_json({"model": str(model), **content})
        elif content["kind"] == "table models":
            print_levels(content, {"file": str(model)})
        elif content["kind"] == "table model":
            facts = {"fitted from": content["data"]} if content["data"] else {}
            print_summary(content, facts | {"file": str(model)})
        else:
            print(printable("\n".join(f"{name}: {value}" for name, value in content.items())))


def file_info(path):
    """Content of a model file, for JSON."""
    if is_panel(path):
        panel = PanelModel.load(path)
        return {"kind": "table models", "data": panel.notes_.get("data"), **panel.summary()}
    model = load_regressor(path)
    if isinstance(model.notes_, dict) and "table" in model.notes_:
        table = TableModel.from_regressor(model, path)
        names = {"kind": "table model", "data": table.notes_.get("data")}
        return names | table.summary() | table.findings().to_json()
    return describe_regressor(model)


def describe_regressor(model: TorusGPRegressor):
    """Content of the file of a regressor that no table belongs to, for JSON."""
    selection = {"selection": selection_summary(model).to_dict()} if model.fit_.learned.rounds else {}
    return to_plain(
        {
            "kind": "regressor",
            "inputs": list(getattr(model, "feature_names_in_", [])) or model.n_features_in_,
            "rows": model.n_samples_seen_,
            "period": np.asarray(model.kernel_.period).tolist(),
            "length_scale": np.asarray(model.kernel_.length_scale).tolist(),
            "n_components": model.index_set_.n_components,
            "frequencies_by_order": frequencies_by_order(model.fitted_),
            "signal_std": np.sqrt(model.signal_variance_),
            "noise_std": np.sqrt(model.noise_variance_),
            "log_evidence": model.log_marginal_likelihood_,
            **selection,
            "notes": model.notes_,
        }
    )
