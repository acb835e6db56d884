"""The command line of gridveil for spark-submit, which takes a file of Python.

spark-submit --master yarn submit.py publish spec.toml --engine spark

spark-submit mixes standard error into standard output, which may be logged where others read it. What is for the
operator alone (counts of readings, examples of faults, progress, errors) goes to a file instead that only you may read.
"""

import os
from pathlib import Path

from gridveil.cli.main import main

FOR_THE_OPERATOR = Path("gridveil-operator.log")

if __name__ == "__main__":
    log = os.open(FOR_THE_OPERATOR, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.fchmod(log, 0o600)
    os.dup2(log, 2)
    print(f"For the operator alone, errors and progress included: {FOR_THE_OPERATOR.absolute()}", flush=True)
    main()
