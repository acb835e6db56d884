"""A real Spark for tests: one in this process, with two workers, as if somebody else had started it."""

from __future__ import annotations

import functools
import os
import sys

import pytest
from tests.trusted.engines import java

from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.engines.spark.engine import SparkEngine
from gridveil.trusted.engines.spark.session import CODE_CACHE, LOGGING, silence_pandas_warning

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=512m -Xms1g"
"""Java does not try to make fast what runs for seconds, nor to clear up what it has room for."""


@functools.cache
def settings() -> EngineSettings:
    """Start Spark, and return how to ask it; skip (in continuous integration: fail) where there is no Java."""
    if java.find() is None:
        (pytest.fail if java.must_run() else pytest.skip)(java.MISSING)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with silence_pandas_warning():
        from pyspark.sql import SparkSession

        start = SparkSession.builder.master("local[2]").config("spark.driver.memory", "1g")
        start = start.config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
        start = start.config("spark.ui.showConsoleProgress", "false").config(map=CODE_CACHE)
        start = start.config("spark.sql.session.timeZone", "Asia/Kathmandu")  # not ours, and not to be changed
        start.config(
            "spark.driver.extraJavaOptions", f"{SHORT_LIVED} -Dlog4j2.configurationFile={LOGGING.as_uri()}"
        ).getOrCreate()
    return EngineSettings("spark")


@functools.cache
def engine() -> SparkEngine:
    """Return an engine to try things on."""
    return SparkEngine(settings())
