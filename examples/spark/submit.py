"""The command line of gridveil for spark-submit, which takes a file of Python.

spark-submit --master yarn submit.py publish spec.toml --engine spark
"""

from gridveil.cli.main import main

if __name__ == "__main__":
    main()
