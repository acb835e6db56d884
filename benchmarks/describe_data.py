"""Write the figures of the data sets into docs/data.md.

python benchmarks/describe_data.py
"""

from __future__ import annotations

from pathlib import Path

from gridveil.research.datasets.catalogue import make_tables

PAGE = Path(__file__).parent.parent / "docs" / "data.md"
BEGIN, END = "<!-- figures -->\n", "\n<!-- end of figures -->"


def main() -> None:
    page = PAGE.read_text("utf-8")
    before, rest = page.split(BEGIN)
    after = rest.split(END.strip())[1]
    PAGE.write_text(f"{before}{BEGIN}{make_tables()}{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
