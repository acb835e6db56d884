"""Low Carbon London: the official files, the older ones with Acorn groups, and Kaggle's; GMT, interval ends."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from gridveil.convert.loader import UNREADABLE, Loader, WrongLayoutError

TARIFF, ACORN = "stdorToU", ("Acorn", "Acorn_grouped")
OFFICIAL = ("LCLid", TARIFF, "DateTime", "KWH/hh (per half hour)")
LAYOUTS = (
    OFFICIAL,
    (*OFFICIAL, *ACORN),
    ("LCLid", "tstp", "energy(kWh/hh)"),
    ("LCLid", TARIFF, *ACORN, "file"),  # Kaggle's informations_households.csv: attributes only
)
TIMES, VALUES = ("DateTime", "tstp"), ("KWH/hh (per half hour)", "energy(kWh/hh)")


class Lcl(Loader):
    """Columns are found by the header; spaces around names, as in the official last one, do not count."""

    expected = (
        "a first line that reads `LCLid,stdorToU,DateTime,KWH/hh (per half hour) ` (with or without "
        "`Acorn,Acorn_grouped`), or Kaggle's `LCLid,tstp,energy(kWh/hh)` (the folder halfhourly_dataset)"
    )
    faults = (
        UNREADABLE,
        "household is not an id",
        "timestamp unreadable",
        "energy missing (Null)",
        "energy unreadable or not finite",
        "timestamp not on the half-hour",
    )
    attributes = ("tariff", "acorn", "acorn_grouped")

    def layout(self, top: list[str]) -> int:
        """Know the edition by its header."""
        names = tuple(name.strip() for name in top[0].split(","))
        if sorted(names) not in [sorted(layout) for layout in LAYOUTS]:
            raise WrongLayoutError(1)
        self.names = names
        return 1

    def read(self, lines: pa.RecordBatch) -> Iterator[pa.Table]:
        """Return the readings of some lines; none from a table of attributes."""
        if set(VALUES) & set(self.names):
            yield from super().read(lines)
        else:
            found = self.ask(lines)
            self.remember(found)
            self.without_faults(found)

    def query(self) -> str:
        """Subtract half an hour from the label, which is the interval's end."""
        tariff, acorn, grouped = (self._field(name) for name in (TARIFF, *ACORN))
        fields = f"""
            SELECT f IS NOT NULL AS whole, identifier({self._field("LCLid")}) AS household,
                   nullif({tariff}, '') AS tariff, nullif({acorn}, '') AS acorn, nullif({grouped}, '') AS acorn_grouped,
                   {self._field(*TIMES)} AS label, {self._field(*VALUES)} AS energy
            FROM (SELECT CASE WHEN len(found) = {len(self.names)} THEN found END AS f
                  FROM (SELECT string_split(line, ',') AS found FROM lines))
        """  # noqa: S608  # our own names
        if not set(VALUES) & set(self.names):
            return f"""
                SELECT household, tariff, acorn, acorn_grouped,
                       CASE WHEN NOT whole THEN 0 WHEN household IS NULL THEN 1 END AS fault FROM ({fields})
            """  # noqa: S608  # our own names
        return rf"""
            WITH typed AS (
                SELECT *, number(energy) AS kwh, CASE
                    WHEN regexp_full_match(label, '\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d([.]0+)?')
                    THEN TRY_CAST(label[:19] AS TIMESTAMP) - INTERVAL 30 MINUTE END AS timestamp
                FROM ({fields})
            )
            SELECT household, timestamp, kwh, tariff, acorn, acorn_grouped,
                   CASE WHEN NOT whole THEN 0
                        WHEN household IS NULL THEN 1
                        WHEN timestamp IS NULL THEN 2
                        WHEN energy IN ('Null', '') THEN 3
                        WHEN kwh IS NULL THEN 4
                        WHEN epoch_us(timestamp) % 1800000000 <> 0 THEN 5 END AS fault
            FROM typed
        """  # noqa: S608  # our own names

    def _field(self, *either: str) -> str:
        """Return the SQL of the column with one of these names; NULL if there is none."""
        places = [place for place, name in enumerate(self.names, start=1) if name in either]
        return f"trim(f[{places[0]}])" if places else "NULL::VARCHAR"
