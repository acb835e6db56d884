"""Put the kept audit into docs/audit.md: `python benchmarks/audit_table.py`, after `docs/audit.json` was made anew."""

import json
from pathlib import Path

from gridveil.research.audit.report import make_markdown

DOCS = Path(__file__).parent.parent / "docs"
START, END = "<!-- table: made by benchmarks/audit_table.py -->", "<!-- end of the table -->"


def main() -> None:
    page = DOCS / "audit.md"
    before, rest = page.read_text().split(START)
    _, after = rest.split(END)
    found = json.loads((DOCS / "audit.json").read_text())
    page.write_text(f"{before}{START}\n\n{make_markdown(found)}\n\n{END}{after}")


if __name__ == "__main__":
    main()
