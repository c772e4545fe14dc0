"""What a page is about: the model, the names of things, and the rows to judge it by."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.views.analysis import effect
from torusgp.views.report._facts import entangled_components, is_fitted_to, judge, levels_along, places_along
from torusgp.views.report._labels import Quantity, describe_dimensions, describe_inputs, describe_targets
from torusgp.views.report._markup import element, join
from torusgp.views.report._scores import Score, explains_nothing
from torusgp.views.report._shares import shares_of_variance
from torusgp.views.report._waves import MeanWaves, week_moves_in

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
        Dimensions of the function.
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
    n_rows : int or None
        Number of rows that the model was fitted to; None if only their weights are known.
    holdout_score : Score or None
        How it fared on rows held out when it was fitted.
    whole_days : bool or None
        Whether weekdays are whole days or move on with the hour; None if that is not known.
    noise_std : ndarray of shape (n_outputs,)
        Standard deviation of the noise of each target, of a typical row.
    """

    model: TorusGPRegressor
    inputs: tuple
    dimensions: tuple
    targets: tuple
    X: np.ndarray | None
    judgements: tuple
    rows_are: str
    looks_fitted: bool
    n_rows: int | None
    holdout_score: Score | None
    whole_days: bool | None
    noise_std: np.ndarray

    @classmethod
    def from_model(
        cls,
        model,
        X,
        y,
        holdout,
        *,
        input_names=None,
        input_units=None,
        target_names=None,
        target_units=None,
        n_rows=None,
        judgement=None,
        noise_std=None,
        predicted_std=None,
        offset=None,
        whole_days=None,
    ):
        """Collect it; see :func:`torusgp.views.report.render_report` for the arguments."""
        if (X is None) != (y is None):
            raise ValueError(f"X and y must be given together, got {'y' if X is None else 'X'} alone.")
        if holdout not in (True, False, None):
            raise ValueError(f"holdout must be True, False or None, got {holdout!r}.")
        if n_rows is not None and not (isinstance(n_rows, int | np.integer) and n_rows > 0):
            raise ValueError(f"n_rows must be a number of rows, got {n_rows!r}.")
        rows_are = {True: "new", False: "fitted", None: "unknown"}[holdout]
        judgements, looks_fitted = (), False
        if X is not None:
            judgements = judge(model, X, y, predicted_std, offset)
            looks_fitted = is_fitted_to(model, y, n_rows)
            if holdout is None and looks_fitted:
                rows_are = "fitted"
            X = np.asarray(X)
            X = X.astype(float) if X.dtype.kind in "iub" else X
        inputs = describe_inputs(model, input_names, input_units)
        targets = describe_targets(model, y, target_names, target_units)
        if judgement is not None and len(targets) > 1:
            raise ValueError(f"judgement is that of one target, but the model has {len(targets)}.")
        if n_rows is None and float(model.n_samples_seen_).is_integer():  # weights are repetitions
            n_rows = int(model.n_samples_seen_)
        return cls(
            model,
            inputs,
            describe_dimensions(model, inputs),
            targets,
            X,
            judgements,
            rows_are,
            looks_fitted,
            n_rows,
            None if judgement is None else Score.from_holdout(judgement, _rows_as_one(model, n_rows)),
            whole_days,
            np.broadcast_to(
                np.sqrt(model.noise_variance_) if noise_std is None else np.asarray(noise_std, dtype=float),
                len(targets),
            ),
        )

    @cached_property
    def functions(self):
        """What effects and noise are about: the targets, or their logarithms or log odds, which have no unit."""
        scale = check_likelihood(self.model.likelihood).scale_name
        return tuple(Quantity(f"{scale} of {one.name}", "") for one in self.targets) if scale else self.targets

    @property
    def drawn_outputs(self):
        """Positions of the targets that get pictures."""
        return range(min(len(self.targets), MOST_OUTPUTS))

    @property
    def signal_std(self):
        """Prior standard deviation of the function of each target."""
        return np.sqrt(np.atleast_1d(self.model.signal_variance_))

    @property
    def function_std(self):
        """Standard deviation of the predicted function of each target, around its mean."""
        if self.indices is None:
            return np.zeros(len(self.targets))
        return np.where(self._attributed[1], 0.0, np.sqrt(np.atleast_1d(self.indices.variance)))

    @property
    def rows_as_one(self):
        """How many rows count as one, by their weights; one if their number is not known."""
        return _rows_as_one(self.model, self.n_rows)

    def scores(self, output):
        """How predictions of a target fared, the most telling rows first."""
        held_out = [] if self.holdout_score is None else [self.holdout_score]
        if not self.judgements:
            return held_out
        given = [Score.from_judgement(self.judgements[output], self.rows_are, self.rows_as_one)]
        return given + held_out if self.rows_are == "new" else held_out + given

    def explains_nothing(self, output):
        """Whether the model is no better than the mean of a target."""
        return explains_nothing(self.scores(output))

    def caution(self, output):
        """A line for sections that show what a model learned which explains nothing, or None."""
        if not self.explains_nothing(output):
            return None
        said = f"The model explains nothing of {self.scores(output)[0].rows}: what it learned means nothing."
        return element("p", element("strong", said))

    @cached_property
    def _attributed(self):
        return shares_of_variance(self.model)

    @property
    def indices(self):
        """Shares of the variance; those of a target without shares mean nothing."""
        return self._attributed[0]

    def why_no_shares(self, output):
        """Why a target has no shares, or None if it has."""
        if self._attributed[1][output]:
            of = "the target" if len(self.targets) == 1 else self.targets[output].name
            reason = f"The predicted function of {of} is constant: it has no variance to attribute."
        elif self.explains_nothing(output):
            reason = f"The model explains nothing of {self.scores(output)[0].rows}, so shares would mean nothing."
        else:
            return None
        return f"Which inputs matter is not said. {reason}"

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
        largest = [max((int(harmonics[axis]) for axis in one.axes), default=1) for one in self.dimensions]
        return [effect(self.model, d, n_points=int(np.clip(8 * k, *_LINE_POINTS)) | 1) for d, k in enumerate(largest)]

    def main_effect(self, dimension, output):
        """Places, and mean and standard deviation of the main effect of a dimension there on one target."""
        found, levels, of = self.main_effects[dimension], self.levels[dimension], self.dimensions[dimension]
        places, values = found.grid[0], (found.mean, found.std)
        if of.kind == "category":
            places = of.places(len(places))
        elif levels is not None and of.calendar == "day_of_week":
            # between whole days there is nothing: hours there would only be named to mislead
            places, values = levels, found(levels, return_std=True)
        return places, *(each.reshape(len(places), -1)[:, output] for each in values)

    @cached_property
    def places(self):
        """Where the rows of X lie along each dimension; None without rows."""
        if self.X is None:
            return None
        return [places_along(self.model, self.X, one) for one in self.dimensions]

    @cached_property
    def levels(self):
        """Values of each circle, where the rows have few that are evenly spaced, such as whole weekdays; or None."""
        found: list[np.ndarray | None] = []
        waves = MeanWaves(self.model)
        for d, one in enumerate(self.dimensions):
            if not one.is_periodic:
                found.append(None)
                continue
            levels = None if self.places is None else levels_along(self.places[d], one.period)
            if levels is None and one.calendar == "day_of_week" and self.whole_days is not None:
                levels = np.arange(one.period) if self.whole_days else None
            elif levels is None:
                levels = waves.levels(one.axes[0], one.period)
            found.append(levels)
        return found

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

    @cached_property
    def moving_week(self):
        """Positions of hour and weekday, if the weekday moves on with the hour: then not all pairs of both exist."""
        calendar = [one.calendar for one in self.dimensions]
        if "hour_of_day" not in calendar or "day_of_week" not in calendar:
            return None
        pair = calendar.index("hour_of_day"), calendar.index("day_of_week")
        axes = [self.dimensions[d].axes[0] for d in pair]
        if self.whole_days is not None:
            moves = not self.whole_days
        elif self.X is None:
            moves = MeanWaves(self.model).week_moves(*axes)
        else:
            moves = week_moves_in(self.model, self.X, *axes)
        return pair if moves else None

    def has_days(self, dimension, pair):
        """Whether a dimension of a pair is a weekday that only has whole days, or has them at a given hour."""
        if self.dimensions[dimension].calendar != "day_of_week":
            return False
        return self.levels[dimension] is not None or set(pair) == set(self.moving_week or ())

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


def _rows_as_one(model, n_rows):
    ratio = 1.0 if n_rows is None else n_rows / model.fitted_.effective_sample_size
    return 1.0 if np.isclose(ratio, 1.0, rtol=1e-9) else ratio
