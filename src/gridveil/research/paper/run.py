"""Runs all stages of the paper's evaluation, resumes where it stopped, and writes tables and figures of the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from gridveil.model.running import Progress
from gridveil.research.compare.study import Record, count_trials, read_study, run_study, trial_key
from gridveil.research.paper.comparison_figures import draw_comparisons
from gridveil.research.paper.detail_figures import draw_details
from gridveil.research.paper.experiments import ExperimentSize, Stage
from gridveil.research.paper.style import save_figure
from gridveil.research.paper.tables import make_tables, write_tables
from gridveil.research.paper.trials import PaperTowns


@dataclass
class Results:
    """All records by file (`london`, `panels`, ...), and how many trials are done of how many."""

    records: dict[str, list[Record]] = field(default_factory=dict)
    done: int = 0
    total: int = 0


def run_stages(
    stages: Sequence[Stage], towns: PaperTowns, out: Path, progress: Progress, after: Callable[[], None]
) -> list[str]:
    """Run what is not done yet, stage by stage, and return what failed. `after` is called when a stage has run."""
    about = {"gridveil": version("gridveil"), **towns.about()}
    failures = []
    for stage in stages:
        path = _study_file(stage, out)
        before = read_study(path)
        report = count_trials(progress, stage.title)
        study = run_study(stage.trials, stage.run, path, report, about=about, workers=stage.workers)
        failures += [f"{stage.title}: {trial}: {reason}" for trial, reason in study.failures.items()]
        if any(trial_key(trial) not in before for trial in stage.trials):
            after()
    return failures


def read_results(stages: Sequence[Stage], out: Path) -> Results:
    """Return what is done of all stages, without running anything."""
    results = Results()
    for stage in stages:
        known = read_study(_study_file(stage, out))
        found = [known[key] for trial in stage.trials if (key := trial_key(trial)) in known]
        results.records.setdefault(stage.file, []).extend(record for records in found for record in records)
        results.done += len(found)
        results.total += len(stage.trials)
    return results


def write_results(results: Results, size: ExperimentSize, folder: Path) -> None:
    """Write every table (CSV) and figure (PNG and SVG) that there are results for, in place of those of before."""
    tables = make_tables(results.records, size)
    write_tables(tables, folder)
    for old in (*folder.glob("*.png"), *folder.glob("*.svg")):
        old.unlink()
    for name, figure in (*draw_comparisons(tables), *draw_details(tables)):
        save_figure(figure, folder / name)


def _study_file(stage: Stage, out: Path) -> Path:
    return out / f"{stage.file}.jsonl"
