"""Three commands lead from a table of hourly sales to the next four weeks, without another word."""

import pandas as pd
import pytest

from tests.cli.runner import assert_fails, run
from tests.sales import OPEN, make_sales


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    make_sales("2024-10-28", 8).to_csv(folder / "sales.csv", index=False)
    hours = pd.DataFrame({"date": pd.date_range("2024-12-23", periods=28 * 24, freq="h")})
    hours.assign(
        promotion=["half price" if date < pd.Timestamp("2024-12-28") else "" for date in hours["date"]]
    ).to_csv(folder / "plan.csv", index=False)
    return folder


def test_three_commands(folder):
    model, forecast = folder / "sales-model.npz", folder / "forecast.csv"
    result = run("fit", folder / "sales.csv", "--target", "sales", "--components", 101)
    assert result.exit_code == 0
    for horizon in ((), ("--horizon", "4w")):  # what is missing is said first, not how far to look
        assert_fails(run("forecast", model, *horizon), "'promotion' as input, which must be known")
    result = run("forecast", model, "--horizon", "4w", "--future", folder / "plan.csv", "-o", forecast)
    assert (result.exit_code, result.stderr) == (0, "")
    written = pd.read_csv(forecast, parse_dates=["date"])
    assert written["date"].dt.hour.isin(OPEN).all()  # closed at night, and it was never said
    assert written["date"].dt.date.nunique() == 28
    pd.read_csv(folder / "plan.csv").assign(promotion="").to_csv(folder / "no-plan.csv", index=False)
    run("forecast", model, "--horizon", "4w", "--future", folder / "no-plan.csv", "-o", forecast)
    ratio = (written["mean"] / pd.read_csv(forecast)["mean"])[written["date"].dt.hour == 12].to_numpy()
    assert (ratio[:5] > 1.1).all()  # what is promoted
    assert (ratio[5:] == 1).all()
    plan = pd.read_csv(folder / "plan.csv")
    plan[~plan["date"].str.contains("-12-25|-12-26|-01-01")].to_csv(folder / "days-off.csv", index=False)
    result = run("forecast", model, "--horizon", "4w", "--future", folder / "days-off.csv", "-o", forecast)
    assert result.exit_code == 0
    assert "no rows on 2024-12-25, 2024-12-26, 2025-01-01" in " ".join(result.stderr.split())
    assert pd.read_csv(forecast, parse_dates=["date"])["date"].dt.date.nunique() == 25
    result = run("report", model, "-o", folder / "report.html")
    assert (result.exit_code, result.stderr) == (0, "")
    assert (folder / "report.html").stat().st_size > 10_000
