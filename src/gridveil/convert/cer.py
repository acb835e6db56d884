"""CER/ISSDA, Ireland 2009-2010: `meter DDDTT kwh` per line, no header, the Irish clock."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from gridveil.convert.loader import UNREADABLE, UTC_TIME, Loader, WrongLayoutError, days, instants

if TYPE_CHECKING:
    import duckdb

LINE = re.compile(r"[0-9]+ [0-9]{5} [0-9.eE+-]+")
SPRING = 46
"""Half-hours of the day on which clocks go forward."""


def starts_of_codes() -> pa.Table:
    """Return the start (UTC) that each code of 2009 and 2010 stands for.

    Codes count the half-hours of a day in the order of time, up to 50 on the autumn day. On the spring day they are 1,
    then 4 to 48: that is how the files have it, though by the clock 3 and 4 would be missing.
    """
    codes, parts = [], []
    for number, day in enumerate(days(date(2009, 1, 1), date(2010, 12, 31)), start=1):
        starts = instants(ZoneInfo("Europe/Dublin"), day, timedelta(minutes=30))
        halves = [1, *range(4, 49)] if len(starts) == SPRING else range(1, len(starts) + 1)
        codes += [f"{number:03}{half:02}" for half in halves]
        parts.append(starts)
    return pa.table({"code": codes, "start": pa.array(np.concatenate(parts)).cast(UTC_TIME)})


class Cer(Loader):
    """`File1.txt` to `File6.txt`, or their zips."""

    expected = "three fields with one space between them (meter, five-digit code, kWh) such as `1392 19503 0.14`"
    faults = (
        UNREADABLE,
        "meter is not a whole number",
        "code is not five digits",
        "code of a day outside 2009 and 2010, or of a half-hour that its day does not have",
        "energy missing, unreadable or not finite",
    )

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        super().__init__(con)
        con.register("codes", starts_of_codes())

    def layout(self, top: list[str]) -> int:
        """Look for one line of the layout: there is no header, and any single line may be damaged."""
        if not any(LINE.fullmatch(line) for line in top):
            raise WrongLayoutError(next((number for number, line in enumerate(top, start=1) if line), 1))
        return 0

    def query(self) -> str:
        """Join the codes' starts."""
        return r"""
            WITH fields AS (SELECT number AS place, string_split(line, ' ') AS f FROM lines),
            typed AS (
                SELECT place, len(f) = 3 AS whole, f[2] AS code, number(f[3]) AS kwh,
                       CASE WHEN regexp_full_match(f[1], '[0-9]{1,9}') THEN f[1] END AS household
                FROM fields
            )
            SELECT household, start AS timestamp, kwh,
                   CASE WHEN whole IS NOT TRUE THEN 0
                        WHEN household IS NULL THEN 1
                        WHEN NOT regexp_full_match(typed.code, '[0-9]{5}') THEN 2
                        WHEN start IS NULL THEN 3
                        WHEN kwh IS NULL THEN 4 END AS fault
            FROM typed LEFT JOIN codes ON typed.code = codes.code ORDER BY place
        """
