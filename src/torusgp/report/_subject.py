"""What a page is about: the model, the names of things, and the rows to judge it by."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from torusgp.analysis import effect, sobol_indices
from torusgp.features import resolve_columns
from torusgp.regression import TorusGPRegressor
from torusgp.report._facts import entangled_components, is_fitted_to, judge, levels_along
from torusgp.report._labels import describe_dimensions, describe_inputs, describe_targets
from torusgp.report._markup import element, join

MOST_OUTPUTS = 6  # targets that get pictures
_LINE_POINTS = (121, 961)  # of a main effect, at least and at most


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted model with names for everything, and rows to judge it by.

    Attributes
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    inputs : tuple of Quantity
        Columns of X.
    dimensions : tuple of Dimension
        Dimensions of the torus.
    targets : tuple of Quantity
        Targets.
    X : ndarray of shape (n_samples, n_features) or None
        Inputs of the rows to judge it by.
    judgements : tuple of Judgement
        One for each target; empty without rows.
    rows_are : {"new", "fitted", "unknown"}
        Whether the model was fitted to these rows.
    looks_fitted : bool
        Whether they seem to be these, whatever was said.
    """

    model: TorusGPRegressor
    inputs: tuple
    dimensions: tuple
    targets: tuple
    X: np.ndarray | None
    judgements: tuple
    rows_are: str
    looks_fitted: bool

    @classmethod
    def from_model(cls, model, X, y, holdout, input_names=None, input_units=None, target_names=None, target_units=None):
        """Collect it; see :func:`torusgp.report.render_report` for the arguments."""
        if (X is None) != (y is None):
            raise ValueError(f"X and y must be given together, got {'y' if X is None else 'X'} alone.")
        if holdout not in (True, False, None):
            raise ValueError(f"holdout must be True, False or None, got {holdout!r}.")
        rows_are = {True: "new", False: "fitted", None: "unknown"}[holdout]
        judgements, looks_fitted = (), False
        if X is not None:
            judgements = judge(model, X, y)
            looks_fitted = is_fitted_to(model, y)
            if holdout is None and looks_fitted:
                rows_are = "fitted"
            X = np.asarray(X, dtype=float)
        inputs = describe_inputs(model, input_names, input_units)
        return cls(
            model,
            inputs,
            describe_dimensions(model, inputs),
            describe_targets(model, y, target_names, target_units),
            X,
            judgements,
            rows_are,
            looks_fitted,
        )

    @property
    def columns(self):
        """Position of the input that feeds each dimension of the torus."""
        return resolve_columns(self.model, self.model.columns).tolist()

    @property
    def drawn_outputs(self):
        """Positions of the targets that get pictures."""
        return range(min(len(self.targets), MOST_OUTPUTS))

    @property
    def noise_std(self):
        """Standard deviation of the noise of each target."""
        return np.sqrt(np.atleast_1d(self.model.noise_variance_))

    @property
    def signal_std(self):
        """Prior standard deviation of the function of each target."""
        return np.sqrt(np.atleast_1d(self.model.signal_variance_))

    @cached_property
    def _attributed(self):
        try:
            return sobol_indices(self.model), None
        except ValueError as error:  # a constant prediction
            return None, f"Which inputs matter is not said. {error}"

    @property
    def indices(self):
        """Shares of the variance, or None if there is none to share."""
        return self._attributed[0]

    @property
    def why_no_indices(self):
        """Why there are none."""
        return self._attributed[1]

    def share(self, output):
        """Shares of the components in the variance of one target."""
        return self.indices.share.reshape(len(self.indices.components), -1)[:, output]

    def component_name(self, component):
        """Name of dimensions that act together."""
        return " \N{MULTIPLICATION SIGN} ".join(self.dimensions[d].name for d in component)

    @cached_property
    def main_effects(self):
        """Main effect of each dimension."""
        harmonics = np.abs(self.model.index_set_.frequencies).max(axis=0)
        return [
            effect(self.model, d, n_points=int(np.clip(8 * largest, *_LINE_POINTS)) | 1)
            for d, largest in enumerate(harmonics.tolist())
        ]

    def main_effect(self, dimension, output):
        """Mean and standard deviation of the main effect of a dimension on one target."""
        found = self.main_effects[dimension]
        return found.grid[0], *(values.reshape(len(found.grid[0]), -1)[:, output] for values in (found.mean, found.std))

    @cached_property
    def levels(self):
        """Values of each dimension, where the rows have few that are evenly spaced, such as whole weekdays; or None."""
        if self.X is None:
            return [None] * len(self.dimensions)
        return [levels_along(self.model, self.X, d, one.period) for d, one in enumerate(self.dimensions)]

    def effect_at_levels(self, dimension, output):
        """Levels and the main effect there, or None where a dimension has no levels."""
        levels = self.levels[dimension]
        if levels is None:
            return None
        return levels, self.main_effects[dimension](levels).reshape(len(levels), -1)[:, output]

    @cached_property
    def entangled(self):
        """Components that the data cannot tell apart."""
        return entangled_components(self.model)

    def for_each_output(self, build):
        """What a function makes of each target that is drawn, one after the other; a script lets one choose.

        Parameters
        ----------
        build : callable
            Takes the position of a target, returns markup.

        Returns
        -------
        Markup
        """
        if len(self.targets) == 1:
            return build(0)
        blocks = [
            element("div", element("h3", self.targets[q].name), build(q), class_="output", data_output=q)
            for q in self.drawn_outputs
        ]
        left = len(self.targets) - len(blocks)
        note = element("p", f"{left} more targets have no pictures here.", class_="note") if left else None
        return join([*blocks, note])
