"""OpenSSL's settings files and the generator inside OpenDP, each time in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gridveil.trusted.kernel.noise import DEFAULT_SETTINGS

TEST_RAND = "openssl_conf = all\n[all]\nrandom = ours\n[ours]\nrandom = TEST-RAND\n"
"""Chooses a generator that fails unless a program has told it what to return: whoever obeys cannot draw."""

OPENDP = "import opendp.prelude as dp\ndp.enable_features('contrib')\n"
RAW = OPENDP + "dp.m.make_laplace(dp.atom_domain(T='i64'), dp.absolute_distance(T='i64'), scale=1.0)(0)\n"
NOISE = """
import os, threading, numpy as np
before = os.environ.get("OPENSSL_CONF")
from gridveil.trusted.kernel.noise import ExactNoise
drawn = []
draw = lambda: drawn.append(ExactNoise().add(np.zeros(99, dtype=np.int64), np.full(99, 1000.0)))
draw()
thread = threading.Thread(target=draw)
thread.start()
thread.join()
assert len(drawn) == 2 and all(len(set(noise)) > 50 for noise in drawn)
assert os.environ.get("OPENSSL_CONF") == before
"""


def run(code: str, settings: Path | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "OPENSSL_CONF"}
    if settings:
        environment["OPENSSL_CONF"] = str(settings)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / "openssl.cnf"
    path.write_text(TEST_RAND)
    raw = run(RAW, path)
    assert raw.returncode != 0, "this OpenDP does not obey OPENSSL_CONF: is there still something to guard against?"
    assert "OpenSSL error" in raw.stderr
    return path


def test_a_settings_file_does_not_reach_the_generator_and_stays_for_others(settings: Path) -> None:
    done = run(NOISE, settings)
    assert done.returncode == 0, done.stderr


def test_a_generator_that_may_have_been_started_with_a_settings_file_is_refused(settings: Path) -> None:
    refused = run(OPENDP + NOISE, settings)
    assert refused.returncode != 0
    assert "UsageError: OpenDP was imported before gridveil's noise" in refused.stderr


@pytest.mark.skipif(DEFAULT_SETTINGS.exists(), reason="there is a settings file on this machine")
def test_without_a_settings_file_opendp_may_have_drawn_before() -> None:
    done = run(RAW + NOISE, None)
    assert done.returncode == 0, done.stderr
