"""The pickle that the paper's authors feed their code: never opened, because opening a pickle runs what is in it."""

from __future__ import annotations

from gridveil.model.errors import InputError

SNIPPET = """\
import pandas as pd
hours = pd.read_pickle("IN.pkl")["visits_by_hour"].reset_index(drop=True).rename_axis("household").explode().reset_index(name="kwh")
hours.assign(kwh=hours.kwh.astype(float), timestamp=pd.Timestamp("2018-01-01", tz="UTC") + pd.to_timedelta(hours.groupby("household").cumcount(), unit="h")).to_parquet("readings.parquet")
"""  # noqa: E501  # three lines, to be copied


def refuse(path: object) -> InputError:
    """Return the error that says how to convert the file elsewhere."""
    return InputError(
        f"{path}: a pickle is a program, and gridveil runs no program that comes as data. If you trust where the file "
        "is from, turn it into Parquet yourself, in an environment of its own with pandas and pyarrow, by these three "
        "lines (with the file's name and the true time of the first hour, which the pickle does not hold; values are "
        f"taken as kWh), and give readings.parquet to gridveil:\n\n{SNIPPET}",
        code="pickle-refused",
    )
