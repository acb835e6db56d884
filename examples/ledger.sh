#!/usr/bin/env bash
# The examples of docs/ledger.md: London households, published week by week with a ledger, in build/ledger.
# Needs the tables that examples/walk.sh prepares.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -e examples/lcl/readings.parquet ] || { echo "run examples/walk.sh first: it prepares the tables" >&2; exit 1; }
PATH="$PWD/.venv/bin:$PATH"
rm -rf build/ledger
mkdir -p build/ledger
cp examples/lcl.toml build/ledger/lcl.toml
ln -s ../../examples/lcl build/ledger/lcl
cd build/ledger
run() {
  printf '\n$'
  for word; do case $word in *' '*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac; done
  printf '\n'
  "$@" 2>stderr.txt || { echo "(exit $?)"; grep '^gridveil:' stderr.txt || true; }
}
publish() { run gridveil publish lcl.toml "$@"; }
week=(--steps 168 --grid 16x16 --epsilon 1)

run gridveil ledger init town.ledger --population west-london --cap 3
publish --start 2013-02-04T00:00Z "${week[@]}" --title 'Week 6' --out week06 --ledger town.ledger
publish --start 2013-02-11T00:00Z "${week[@]}" --title 'Week 7' --out week07 --ledger town.ledger

echo; echo '# killed when it has measured, before there is a release'
gridveil publish lcl.toml --steps 336 --grid 64x64 --epsilon 0.5 --mechanism htf --title 'Two weeks' --out two-weeks --ledger town.ledger 2>stderr.txt &
until gridveil ledger export town.ledger | grep -q '"title":"Two weeks"'; do sleep 0.1; done
kill -9 $!
wait $! 2>/dev/null || echo "(exit $?)"
echo "$ ls -d *week*"
ls -d -- *week*

publish --start 2013-02-18T00:00Z "${week[@]}" --title 'Week 8' --out week08 --ledger town.ledger
run gridveil ledger show town.ledger --figure ledger-household.png
run gridveil ledger verify town.ledger week06 week07
run gridveil ledger export town.ledger -o town.jsonl

run gridveil ledger init weekly.ledger --population west-london --cap 1.5 --unit household-window --window week --timezone Europe/London
for one in 4:01-21 5:01-28 6:02-04 7:02-11 8:02-18; do
  publish --start "2013-${one#*:}T00:00Z" "${week[@]}" --title "Week ${one%:*}" --out "weekly/week0${one%:*}" --ledger weekly.ledger
done
publish --start 2013-02-11T00:00Z --steps 120 --epsilon 0.5 --grid 32x32 --title 'Week 7, working days, finer' --out weekly/finer --ledger weekly.ledger
publish --start 2013-02-14T00:00Z "${week[@]}" --title 'Thursday to Wednesday' --out weekly/crossing --ledger weekly.ledger
publish --start 2013-02-11T00:00Z --steps 168 --grid 16x16 --epsilon 0.5 --title 'Week 7 again' --out weekly/again --ledger weekly.ledger
run gridveil ledger show weekly.ledger --figure ledger-weekly.png

echo; echo '# an old copy is put back'
cp town.ledger old.ledger; cp town.ledger.head old.ledger.head
publish --start 2013-02-18T00:00Z --steps 168 --grid 4x4 --epsilon 0.25 --title 'Week 8, coarse' --out week08 --ledger town.ledger
run gridveil ledger export town.ledger -o newer.jsonl
cp old.ledger town.ledger
run gridveil ledger verify town.ledger
cp old.ledger.head town.ledger.head
run gridveil ledger verify town.ledger
run gridveil ledger verify town.ledger week08 --against newer.jsonl
