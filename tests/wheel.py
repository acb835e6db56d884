"""Build the wheel, install it alone into a new folder, and use it from there: what users get, not the source tree."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PYTHON = Path(__file__).parent.parent / ".venv" / "bin" / "python"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        build = [PYTHON, "-m", "build", "--wheel", "--no-isolation", "--outdir", work / "dist"]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        wheel = next((work / "dist").glob("gridveil-*.whl"))
        install = [
            PYTHON,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--target",
            work / "site",
            wheel,
        ]
        subprocess.run(install, check=True)
        # The folder comes first on the path, before the editable install.
        environment = {**os.environ, "PYTHONPATH": str(work / "site")}
        where = "import gridveil; print(gridveil.__file__)"
        found = subprocess.run(
            [PYTHON, "-c", where], check=True, env=environment, cwd=work, capture_output=True, text=True
        )
        if str(work) not in found.stdout:
            sys.exit(f"the wheel was not used, but {found.stdout}")
        run = "from gridveil.cli.main import main; main()"
        subprocess.run(
            [PYTHON, "-c", run, "demo", "--out", "demo"],
            check=True,
            env=environment,
            cwd=work,
            stderr=subprocess.DEVNULL,
        )
        # Package data: the sample of London households.
        data = "from gridveil.research.datasets.london import load_lcl; assert load_lcl().readings.shape[1] == 220"
        subprocess.run([PYTHON, "-c", data], check=True, env=environment, cwd=work)
        # Package data: the proof beside the code that it is about.
        if not (work / "site" / "gridveil" / "trusted" / "PROOF.md").is_file():
            sys.exit("the wheel has no PROOF.md")
        # Package data: the page of the map.
        page = (
            "from pathlib import Path; from fastapi.testclient import TestClient; "
            "from gridveil.serve.app import create_app; from gridveil.serve.releases import open_all; "
            "client = TestClient(create_app(open_all([Path('demo/release-mosaic')])), 'http://localhost'); "
            "assert all(client.get(f'/{name}').status_code == 200 for name in ('', 'page/main.js', 'api/releases'))"
        )
        subprocess.run([PYTHON, "-W", "ignore", "-c", page], check=True, env=environment, cwd=work)
        if not (work / "demo" / "report.html").stat().st_size:
            sys.exit("the demo wrote no report")
    print("wheel: 1 passed, 0 failed")  # noqa: T201  # the closing line


if __name__ == "__main__":
    main()
