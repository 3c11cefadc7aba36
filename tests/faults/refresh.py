#!/usr/bin/env python3
"""Refreshes the tables of docs/reliability.md from the summaries of the last full campaigns, where there are any:
refresh.py, from the root of the tree. A table stands under <!-- table of build/NAME.tsv -->."""

import re
import sys
from pathlib import Path

DOCUMENT = Path("docs/reliability.md")
MARK = re.compile(r"(<!-- table of (build/[a-z]+\.tsv) -->\n)(?:\|.*\n)*")


def table(path):
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines) + "\n"


def main():
    def replace(found):
        path = Path(found[2])
        if path.exists():
            return found[1] + table(path)
        print(f"{path} is not there: its table stays as it is", file=sys.stderr)
        return found[0]
    DOCUMENT.write_text(MARK.sub(replace, DOCUMENT.read_text()))


if __name__ == "__main__":
    main()
