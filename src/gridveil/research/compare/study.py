"""A study: many trials side by side, each written down as it finishes, so that a stopped study goes on."""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from gridveil.model.errors import GridveilError, InputError, UsageError
from gridveil.model.running import Progress

T = TypeVar("T")
Record = dict[str, Any]
"""What a trial found, in plain values: one line of a study."""
Tell = Callable[[int, int], None]
"""Called with how many trials are done, and how many there are. See `count_trials`."""

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Study(Generic[T]):
    """What came of a study: the records of all trials, in the order of the trials, and why others failed."""

    records: list[Record]
    failures: dict[T, str]


def run_study(
    trials: Sequence[T],
    run: Callable[[T], list[Record]],
    path: Path,
    progress: Tell = lambda _done, _total: None,
    *,
    about: Mapping[str, Any] | None = None,
    workers: int | None = None,
) -> Study[T]:
    """Run every trial that `path` does not have yet, in processes side by side, and return the records of all.

    trials: frozen dataclasses of plain values; what identifies a trial in the file.
    run: makes the records of a trial; it and the trials must pickle, and records be plain values.
    path: JSON lines; the first says what the study is `about` (data, settings that are no part of a trial), the others
        hold a trial with its records, or with its error. A line that was cut short by a stop is dropped. A trial that
        failed is tried again next time.
    workers: processes, by default one per core. One runs the trials in this very process.

    A file about something else is refused, and so is one that another study is writing to.
    """
    with _journal(path, dict(about or {})) as (file, done):
        keys = {trial: trial_key(trial) for trial in trials}
        missing = [trial for trial, key in keys.items() if key not in done]
        failures: dict[T, str] = {}
        finished = len(keys) - len(missing)
        progress(finished, len(keys))
        # Closed at once when this is interrupted, so that no trial begins any more.
        with closing(_outcomes(missing, run, workers or os.cpu_count() or 1)) as outcomes:
            for trial, (records, error) in outcomes:
                outcome = {"records": records} if error is None else {"error": error}
                file.write(json.dumps({"trial": json.loads(keys[trial]), **outcome}, allow_nan=False) + "\n")
                file.flush()
                if error is None:
                    done[keys[trial]] = records
                else:
                    failures[trial] = error
                finished += 1
                progress(finished, len(keys))
        return Study([record for key in keys.values() for record in done.get(key, [])], failures)


def count_trials(report: Progress, stage: str) -> Tell:
    """Return a callback that reports trials as the progress of a stage, with their number beside the bar."""
    return lambda done, total: report(f"{stage} ({done:,} of {total:,} trials)", done / max(1, total))


def trial_key(trial: object) -> str:
    """Return what identifies a trial in a study's file."""
    return json.dumps(asdict(trial), sort_keys=True)  # type: ignore[call-overload]  # a dataclass


def read_study(path: Path) -> dict[str, list[Record]]:
    """Return the records of a study's file by trial (`trial_key`); none if there is no file.

    The last line may be cut short. Trials that failed are left out.
    """
    if not path.exists():
        return {}
    text = path.read_text("utf-8")
    return _records(_parse_lines(path, text[: text.rfind("\n") + 1]))


def discard_failures(path: Path) -> None:
    """Empty a study's file if none of its trials succeeded, so that a study of other settings can use it."""
    if not path.is_file():
        return
    with path.open("r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return  # another study is writing to it: `run_study` says so
        try:
            head, *trials = (json.loads(line) for line in file if line.endswith("\n"))
            ours = set(head) == {"study"} and all("trial" in trial for trial in trials)
        except (ValueError, TypeError):
            return  # not a study's file
        if ours and not any("records" in trial for trial in trials):
            file.truncate(0)


def _outcomes(
    trials: Sequence[T], run: Callable[[T], list[Record]], workers: int
) -> Generator[tuple[T, tuple[list[Record], str | None]], None, None]:
    if workers == 1 or len(trials) <= 1:
        yield from ((trial, _attempt(run, trial)) for trial in trials)
        return
    with worker_pool(min(workers, len(trials))) as pool:
        waiting = {pool.submit(_attempt, run, trial): trial for trial in trials}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


@contextmanager
def worker_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Give processes with one thread each for linear algebra and PyTorch: the cores are busy with other trials already.

    Spawned, not forked: reading the tables has left threads of DuckDB and Arrow behind, and a fork would copy the
    locks that they may hold. It costs each worker a second or two of imports, once; macOS does the same anyway.
    """
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(workers, context, initializer=_ignore_interrupts) as pool:
            try:
                yield pool
            except BrokenProcessPool as error:
                msg = "a worker process was ended from outside (out of memory?); run the same again"
                raise GridveilError(msg, code="worker-ended") from error
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _attempt(run: Callable[[T], list[Record]], trial: T) -> tuple[list[Record], str | None]:
    """Run a trial; an error becomes words, so that it neither stops the others nor has to pickle."""
    try:
        return run(trial), None
    except Exception as error:  # noqa: BLE001  # whatever a method of a third party raises
        where = traceback.extract_tb(error.__traceback__)[-1]
        return [], f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the parent, which lets running work finish and starts no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _journal(path: Path, about: dict[str, Any]) -> Iterator[tuple[IO[str], dict[str, list[Record]]]]:
    """Open a study's file for appending, with what it has: records by trial."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # For its owner only: what is in it was computed from true values.
    with open(path, "a+", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            msg = f"{path}: another study is writing to it; wait for it, or choose another place"
            raise UsageError(msg, code="study-in-use") from error
        file.seek(0)
        text = file.read()
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            file.truncate(len(whole.encode()))
        lines = _parse_lines(path, whole)
        head = json.loads(json.dumps({"study": about}))
        if not lines:
            file.write(json.dumps(head) + "\n")
        elif lines[0] != head:
            msg = f"{path}: holds a study of other data or settings; move it away, or choose another place"
            raise UsageError(msg, code="study-other")
        yield file, _records(lines)


def _parse_lines(path: Path, text: str) -> list[dict[str, Any]]:
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError as error:
            msg = f"{path}, line {number}: not a study's file; move it away, or choose another place"
            raise InputError(msg, code="study-unreadable") from error
    return lines


def _records(lines: list[dict[str, Any]]) -> dict[str, list[Record]]:
    return {json.dumps(line["trial"], sort_keys=True): line["records"] for line in lines if "records" in line}
