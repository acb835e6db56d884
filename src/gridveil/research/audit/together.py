"""Many attacks side by side, in processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from gridveil.model.errors import GridveilError
from gridveil.research.audit.effort import SLOW, Attack, Effort, attacks_on, error_of_each
from gridveil.research.audit.study import Carried, carry_out, combine, family

Tell = Callable[[float], None]
"""Called with the part of the attacks that is done."""

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def audit_all(
    mechanisms: Sequence[str],
    epsilon: float | str,
    effort: Effort,
    tell: Tell = lambda _done: None,
    workers: int | None = None,
) -> dict[str, Carried]:
    """Return the audit of each mechanism, as `study.audit` makes it; `workers` is the number of processes."""
    each = error_of_each(family(*mechanisms), effort)
    todo = sorted((attack for name in mechanisms for attack in attacks_on(name, effort)), key=_work, reverse=True)
    done: dict[str, list[Carried]] = {name: [] for name in mechanisms}
    with _pool(workers or os.cpu_count() or 1) as pool:
        waiting: dict[Future[Carried], Attack] = {pool.submit(carry_out, one, epsilon, each): one for one in todo}
        try:
            for number, future in enumerate(as_completed(waiting), start=1):
                done[waiting[future].mechanism].append(future.result())
                tell(number / len(todo))
        except BrokenProcessPool as error:
            msg = "a process of the audit was ended from outside (out of memory?); run it again"
            raise GridveilError(msg, code="worker-ended") from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    return {name: combine(parts) for name, parts in done.items()}


def _work(attack: Attack) -> tuple[bool, int]:
    """Say which attacks take longest: they start first, so that no process waits for another at the end."""
    return attack.mechanism in SLOW and attack.runs > 0, attack.runs


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Start processes with one thread each: spawned, because a fork would copy the locks of ingest's threads."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, context, initializer=_ignore_interrupts) as pool:
            yield pool
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the parent, which starts no more attacks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
