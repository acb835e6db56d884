#!/usr/bin/env bash
# The example of docs/regular-publication.md: London households in a lake of day files, published week by week, in
# build/weekly. Needs the tables that examples/walk.sh prepares.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -e examples/lcl/readings.parquet ] || { echo "run examples/walk.sh first: it prepares the tables" >&2; exit 1; }
PATH="$PWD/.venv/bin:$PATH"
rm -rf build/weekly
mkdir -p build/weekly/lake
cp examples/weekly.toml build/weekly/
cp examples/lcl/households.parquet build/weekly/lake/
python - <<'PYTHON'
from pathlib import Path

import duckdb

days = "FROM 'examples/lcl/readings.parquet' WHERE timestamp >= '2013-01-20' AND timestamp < '2013-02-05'"
for (day,) in duckdb.sql(f"SELECT DISTINCT CAST(timestamp AS DATE) {days}").fetchall():
    folder = Path(f"build/weekly/lake/{day:%Y/%m/%d}")
    folder.mkdir(parents=True)
    duckdb.sql(f"COPY (SELECT * {days} AND CAST(timestamp AS DATE) = '{day}') TO '{folder}/meters.parquet'")
PYTHON
cd build/weekly
run() {
  printf '\n$ %s\n' "$*"
  "$@" 2>stderr.txt || { echo "(exit $?)"; grep '^gridveil:' stderr.txt || true; }
}

run gridveil ledger init weekly.ledger --population london --cap 2 --unit household-window --window week --timezone Europe/London
run gridveil check weekly.toml
run gridveil publish weekly.toml --next
run gridveil publish weekly.toml --next
run gridveil publish weekly.toml --next
run ls -A series
run gridveil query series --time 2013-01-26T00:00Z/2013-01-30T00:00Z
run gridveil ledger show weekly.ledger
