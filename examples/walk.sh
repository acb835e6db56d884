#!/usr/bin/env bash
# The walk of docs/first-publication.md: London households, from readings to a release and questions to it.
# Needs the Low Carbon London extract and the feeders; give their folder, or have it at ../shared/data.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
data=${1:+$(cd "$here" && realpath "$1")}
data=${data:-../shared/data}
PATH="$PWD/.venv/bin:$PATH"
for file in lcl/readings_hourly.parquet lcl/households.parquet ssen_west_london/feeders.parquet; do
  [ -f "$data/$file" ] || { echo "$data/$file is not there; give the folder of the data" >&2; exit 1; }
done
run() { printf '\n$ %s\n' "$*"; "$@"; }

rm -rf examples/lcl
mkdir examples/lcl
run python examples/place_lcl.py "$data" examples/lcl/households.parquet
ln -s "$(realpath "$data/lcl/readings_hourly.parquet")" examples/lcl/readings.parquet
run gridveil check examples/lcl.toml
run gridveil plan examples/lcl.toml --expect 5000
run gridveil ledger init examples/lcl/ledger.db --population west-london --cap 4
run gridveil publish examples/lcl.toml --ledger examples/lcl/ledger.db
run gridveil query examples/lcl/release --x 0:10 --y 0:10 --time 2013-02-04T00/2013-02-05T00
run gridveil query examples/lcl/release --time 2013-02-04T17/2013-02-04T20
run gridveil query examples/lcl/release --x 20 --y 12 --time 2013-02-04T18/2013-02-04T19
run gridveil info examples/lcl/release
run gridveil verify examples/lcl/release --ledger examples/lcl/ledger.db
