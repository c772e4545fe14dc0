"""What the comparison has to show, whether it does, and where another method wins: all computed from the results."""

from benchmarks.peers import arms

CHANCE = 2.0  # standard errors of a difference up to which it may be chance
DEPENDENT = 0.5  # correlation of successive residuals from which rows are plainly not independent
OURS = (arms.TORUS, arms.TORUS_FEW_ROWS, arms.TORUS_IN_ORDER)
FEATURES = (arms.RANDOM, arms.NYSTROEM)
EQUAL = 1e-4  # difference of log losses, or relative one of RMSE, that is none
MUCH_NOISE = 1.2  # learned noise relative to the true one from which part of the function must be in it


def outcomes(record):
    """Required outcomes, each with whether it is met (None if what it needs was left out) and the numbers behind it."""
    found = []
    for case in record["cases"]:
        if case["problem"] == "toy":
            gaussian = (arms.EXACT, arms.GPYTORCH_EXACT, arms.GPYTORCH_SVGP)
            found.append(_faster(case, gaussian, 10))
            found.append(_faster(case, FEATURES, 3))
        elif case["problem"] == "ring":
            found.append(_more_accurate(case, FEATURES))
        elif case["problem"] == "electricity":
            found += [_least_log_loss(case, name) for name in (arms.TORUS, arms.TORUS_IN_ORDER)]
    return [outcome for outcome in found if outcome is not None]


def _faster(case, names, factor):
    rows = [row for row in case["results"] if row["arm"] in names]
    if not rows:
        return None
    met = all(row["fit ratio"] >= factor and row["rmse difference"] >= -CHANCE for row in rows)
    numbers = "; ".join(
        f"{row['label']} {row['fit ratio']:.3g} times as long, RMSE {_relative(case, row)}" for row in rows
    )
    return _outcome(
        case, f"at least {factor} times faster than {_names(rows)}, at an RMSE that is no worse", met, numbers
    )


def _more_accurate(case, names):
    rows = [row for row in case["results"] if row["arm"] in names]
    if not rows:
        return None
    met = all(is_lower(reference(case, row), row, "rmse") and row["fit ratio"] >= 1 for row in rows)
    numbers = "; ".join(
        f"{row['label']} ({row['details']['columns']} columns) RMSE {_relative(case, row)}, {row['fit ratio']:.3g} "
        "times as long"
        for row in rows
    )
    return _outcome(case, f"a lower RMSE than {_names(rows)} at equal columns, and no slower", met, numbers)


def _least_log_loss(case, name):
    ours = next((row for row in case["results"] if row["label"] == name), None)
    if ours is None:
        return None
    others = [row for row in case["results"] if row["arm"] not in OURS]
    better = [row for row in others if row["mnll"] <= ours["mnll"]]
    numbers = f"{ours['mnll']:.4f}, the others " + ", ".join(
        f"{row['mnll']:.4f} ({row['label']})" for row in sorted(others, key=lambda row: row["mnll"])
    )
    return _outcome(case, f"{name}: a lower log loss than every other method", not better, numbers)


def _outcome(case, statement, met, numbers):
    return {"problem": case["problem"], "rows": case["rows"], "statement": statement, "met": met, "numbers": numbers}


def _names(rows):
    return ", ".join(dict.fromkeys(row["arm"] for row in rows))


def _relative(case, row):
    """How an RMSE lies to that of the reference, in words."""
    change = row["rmse"] / reference(case, row)["rmse"] - 1
    return f"{change:+.2%} ({row['rmse difference']:+.1f} standard errors)"


def reference(case, row):
    """The fit of torusgp to which a row is compared."""
    return next(other for other in case["results"] if other["label"] == row["reference"])


def wins(case):
    """A sentence or more on every method that does better in some respect than its fit of torusgp, and why."""
    found = []
    for row in case["results"]:
        if row["arm"] in OURS:
            continue
        ours = reference(case, row)
        times = [
            f"{verb} in {row[key]:.2g} of the time ({row[seconds]:.2g} s)"
            for verb, key, seconds in (
                ("fits", "fit ratio", "fit seconds"),
                ("predicts", "predict ratio", "predict seconds"),
            )
            if row[key] < 1
        ]
        losses = [(key, name) for key, name in (("rmse", "RMSE"), ("mnll", "log loss")) if is_lower(row, ours, key)]
        sentences = [_accuracy_win(row, ours, key, name) for key, name in losses]
        certain = [key for key, _ in losses if abs(row[f"{key} difference"]) >= CHANCE]
        if certain:
            sentences.append(explanation(case, row, ours, certain[-1]))
        if times:
            sentences.append(f"It {' and '.join(times)}{_price(row, ours)}.")
        if sentences:
            found.append(f"**{row['label']}**, against {ours['label']}. {' '.join(sentences)}")
    return found


def is_lower(row, ours, key):
    """Whether a loss is lower by more than rounding of the last digit that is shown."""
    return row[key] < ours[key] - EQUAL * (ours["rmse"] if key == "rmse" else 1.0)


def _price(row, ours):
    """What a faster method costs in accuracy."""
    change = row["rmse"] / ours["rmse"] - 1
    if change <= 0:
        return ", and its RMSE is no higher"
    return f"; its RMSE is {change:.1%} higher ({row['rmse difference']:.1f} standard errors)"


def _accuracy_win(row, ours, key, name):
    errors = abs(row[f"{key} difference"])
    chance = ", which may be chance" if errors < CHANCE else ""
    return f"Its {name} is lower, {row[key]:.5g} against {ours[key]:.5g}: {errors:.1f} standard errors{chance}."


def explanation(case, row, ours, key):
    """Why torusgp does worse here, as far as the numbers tell."""
    noise, true_noise = ours["details"]["noise std"], case["noise std"]
    if true_noise is not None and noise > MUCH_NOISE * true_noise:
        return (
            f"torusgp took part of the function for noise: with {ours['details']['columns']} columns it learned noise "
            f"of standard deviation {noise:.2f}, and the data have {true_noise:.2f}."
        )
    if case["residual correlation"] > DEPENDENT:
        text = (
            f"Successive training residuals correlate by {case['residual correlation']:.2f}: rows are not independent, "
            "as the evidence supposes, and the more of them there are, the more it fits what will not come back."
        )
        in_order = next((other for other in case["results"] if other["arm"] == arms.TORUS_IN_ORDER), None)
        if in_order is not None:
            text += f" With rows in the order of time torusgp reaches {in_order[key]:.4g}."
        return text
    if "columns" in row["details"] and true_noise is not None:
        excess = (noise**2 - true_noise**2) / true_noise**2
        return (
            f"At {row['details']['columns']} columns torusgp leaves out frequencies that the function has: its noise "
            f"variance is {excess:.0%} above the true one."
        )
    return "The results do not tell why."
