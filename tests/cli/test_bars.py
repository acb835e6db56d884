"""Progress bars: they go when a command fails, and an interruption says what can be gone on from."""

from pathlib import Path

import pytest

from gridveil.cli import show
from gridveil.errors import InputError

STAGE = "read the tables"


def end(error: BaseException, scratch: Path | None = None) -> None:
    with show.bars(scratch) as tell:
        tell(STAGE, 0.0)
        tell(STAGE, 0.5)
        raise error


def test_bars_stay_after_success_and_go_after_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    with show.bars() as tell:
        tell(STAGE, 1.0)
    assert STAGE in capsys.readouterr().err
    with pytest.raises(InputError):
        end(InputError())
    assert not capsys.readouterr().err.strip()


@pytest.mark.parametrize("kept", [True, False])
def test_an_interruption_says_what_can_be_gone_on_from(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, *, kept: bool
) -> None:
    if kept:
        (tmp_path / "gridveil-scratch").mkdir()
        (tmp_path / "gridveil-scratch" / "run-part.parquet").touch()
    with pytest.raises(KeyboardInterrupt):
        end(KeyboardInterrupt(), tmp_path)
    assert ("the same command goes on from there" in " ".join(capsys.readouterr().err.split())) == kept
