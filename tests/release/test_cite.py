from datetime import date

from tests.release.conftest import make_label

from gridveil.release.format.documents import bibtex, cite


def test_a_reference_says_who_when_what_and_how_private() -> None:
    assert cite(make_label(epsilon=3)) == (
        "Example Grid (2026): Consumption of a town. Data set, household electricity consumption 2013-02-04 00:00 to "
        "2013-02-05 06:00 UTC, differentially private with epsilon 3, published 2026-11-15 with gridveil 0.1.0."
    )


def test_test_noise_is_not_cited_as_private() -> None:
    words = cite(make_label(private=False))
    assert "NOT PRIVATE" in words
    assert "differentially private" not in words


def test_bibtex_survives_signs_that_mean_something_to_tex() -> None:
    text = bibtex(make_label(title="Watts & {volts}\n100 % \\input{x}", publisher="Größe", published=date(2024, 3, 1)))
    lines = text.splitlines()
    assert lines[0] == "@misc{gre2024,"
    assert lines[1] == r"  title = {{Watts \& \{volts\} 100 \% \textbackslash{}input\{x\}}},"
    assert lines[-1] == "}"
    assert len(lines) == 8
