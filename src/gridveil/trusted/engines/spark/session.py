"""A Spark session, of our own or beside the caller's, and corrected SQL of ibis for Spark."""

from __future__ import annotations

import os
import re
import shutil
import sys
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.datatypes as dt
import sqlglot as sg
import sqlglot.expressions as sge
from ibis.backends.sql.compilers.pyspark import PySparkCompiler

from gridveil.model.errors import MissingExtraError, UsageError
from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.engines.base.scratch import Temporary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ExactSparkCompiler(PySparkCompiler):  # type: ignore[misc]  # ibis has no types
    """Writes expressions so that they mean what ibis says."""

    __slots__ = ()

    def visit_NonNullLiteral(self, op: Any, *, value: Any, dtype: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Write constants as doubles: 0.5 would be a decimal."""
        if dtype.is_floating():
            return self.cast(sge.convert(repr(float(value))), dt.float64)
        return super().visit_NonNullLiteral(op, value=value, dtype=dtype)

    def visit_Field(self, op: Any, *, rel: Any, name: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Name a column; an option of ibis could make other values of NaN here."""
        return super(PySparkCompiler, self).visit_Field(op, rel=rel, name=name)

    def visit_IsInf(self, op: Any, *, arg: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Compare with the infinities; ibis compares in Python, and every number is finite."""
        del op
        return sg.or_(arg.eq(self.POS_INF), arg.eq(self.NEG_INF))

    def visit_BitOr(self, op: Any, *, arg: Any, where: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Call Spark's own function, which ibis does not know."""
        del op
        return self.agg.bit_or(arg, where=where)

    def visit_BitwiseLeftShift(self, op: Any, *, left: Any, right: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Shift a bigint: a constant alone is an integer, whose bits come round again after 32."""
        return self.f.anon.shiftleft(self.cast(left, op.dtype), self.cast(right, dt.int32))


def compile_query(expression: ibis.Table) -> str:
    """Return the query of an expression."""
    compiler = ExactSparkCompiler()
    return str(compiler.to_sqlglot(expression).sql(dialect=compiler.dialect))


# The Spark session: started here, or a second one beside that of spark-submit.

NO_JAVA = (
    "the engine spark needs Java 17 or later, and none could be started; install it with: "
    "sudo apt-get install openjdk-17-jre-headless (or set JAVA_HOME to one that is there)"
)
JAVA_ENDED = "Java ended at once: it must be 17 or later, and able to use the memory that was stated; see JAVA_HOME."
KNOWN_MASTERS = re.compile(r"yarn|local(-cluster)?(\[.+\])?|(spark|k8s)://.+")
LOGGING = Path(__file__).with_name("log4j2.properties")
MEBIBYTE = 2**20

EXACT_SETTINGS = {
    # Clocks are converted by tables of ours, in integers (see `Clock`): Spark's own zone must not touch a moment.
    "spark.sql.session.timeZone": "UTC",
    # A row must not make a query fail. That nothing overflows is known from public numbers (see `Bound`), and values
    # that a cast would change are taken out before.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    # Statistics of a file leave NaN out: rows would come and go with what is stored beside them.
    "spark.sql.parquet.filterPushdown": "false",
}
SPEED_SETTINGS = {
    # Households are far fewer than readings: where they fit, readings are joined where they lie, without a shuffle.
    "spark.sql.autoBroadcastJoinThreshold": str(64 * MEBIBYTE),
    "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": str(64 * MEBIBYTE),
}
CODE_CACHE = {"spark.sql.codegen.cache.maxEntries": "1000"}
"""One ingest needs more pieces of code than the 100 that Spark keeps; the others were compiled again and again."""


def make_session(settings: EngineSettings) -> SparkSession:
    """Return a session with settings of its own; those of a session that is already there stay as they are."""
    with silence_pandas_warning():
        try:
            from pyspark.sql import SparkSession
        except ImportError as error:
            what = "the engine spark"
            raise MissingExtraError(what, "spark") from error
        there = SparkSession.getActiveSession() or _start(settings)
    if settings.master not in (None, there.sparkContext.master):
        msg = f"master {settings.master}: this process already works with {there.sparkContext.master}; leave it out"
        raise UsageError(msg, code="spark-master-other")
    ours = there.newSession()
    for name, value in {**EXACT_SETTINGS, **SPEED_SETTINGS}.items():
        ours.conf.set(name, value)
    if str(there.sparkContext.master).startswith("local"):
        # The 200 that Spark cuts a shuffle into are meant for a cluster.
        ours.conf.set("spark.sql.shuffle.partitions", str(2 * there.sparkContext.defaultParallelism))
    return ours


@contextmanager
def apply_settings(ours: SparkSession) -> Iterator[None]:
    """Let what is no query of Spark's run with our session's settings, here and on workers, as queries do."""
    context, sessions = ours.sparkContext, ours._jvm.SparkSession  # type: ignore[union-attr]  # noqa: SLF001  # no public way
    active, before = sessions.getActiveSession(), {name: context.getLocalProperty(name) for name in EXACT_SETTINGS}
    sessions.setActiveSession(ours._jsparkSession)  # noqa: SLF001
    for name, value in EXACT_SETTINGS.items():
        context.setLocalProperty(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            context.setLocalProperty(name, earlier)  # type: ignore[arg-type]  # None takes it away
        sessions.setActiveSession(active.get()) if active.isDefined() else sessions.clearActiveSession()


@contextmanager
def silence_pandas_warning() -> Iterator[None]:
    """Silence Spark's warning about pandas 3: no row ever becomes a data frame of pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def _start(settings: EngineSettings) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if (settings.master or "").startswith("sc://"):
        msg = f"master {settings.master}: Spark Connect is not served; run gridveil as the driver, with spark-submit"
        raise UsageError(msg, code="spark-connect")
    if settings.master is not None and not KNOWN_MASTERS.fullmatch(settings.master):
        # Before Java is started, which would write to the terminal where it stopped.
        msg = (
            f"master {settings.master}: not one that Spark knows; give local[2], spark://HOST:7077, yarn or "
            "k8s://https://HOST:PORT"
        )
        raise UsageError(msg, code="spark-master-unknown")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    builder = SparkSession.builder.appName("gridveil")
    if settings.master is not None:
        builder = builder.master(settings.master)
    if not submitted:
        _require_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        for name, value in _make_settings(settings).items():
            builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        reason = getattr(error, "getCondition", lambda: None)() or type(error).__name__
        where = settings.master or "the master that it is set up with"
        told = JAVA_ENDED if reason == "JAVA_GATEWAY_EXITED" else "Check the master's address, and that it answers."
        msg = f"Spark did not start with {where} ({reason}). {told}"
        raise UsageError(msg, code="spark-not-started") from None


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is None:
        raise UsageError(NO_JAVA, code="java-missing")


def _make_settings(settings: EngineSettings) -> dict[str, str]:
    """Return the settings of a Spark that this process starts."""
    # Spark's own folders under /tmp may be read by every user of the machine; what is in this one, by nobody else.
    temporary = Temporary(settings.scratch)
    weakref.finalize(_make_settings, temporary.close)  # when Python ends
    local = str(temporary.folder)
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
        "spark.driver.maxResultSize": "0",  # sums of a cube; how many there are is public
        **CODE_CACHE,
        "spark.local.dir": local,
        "spark.sql.warehouse.dir": local,
        **({"spark.driver.memory": f"{settings.memory // MEBIBYTE}m"} if settings.memory is not None else {}),
    }
