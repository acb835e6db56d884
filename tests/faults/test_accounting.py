"""Faults of the accounting: what a household loses is added up wrongly, or too late.

Nothing here is left to chance: losses are compared exactly, on examples that the guards always try.
"""

import pytest
from tests.faults.planting import always_tried, check_caught, mistake
from tests.properties import test_kernel_loss as losses
from tests.properties import test_staircase_loss as staircases
from tests.trusted.kernel import test_charging as charging
from tests.trusted.kernel import test_kernel as kernels

from gridveil.trusted.kernel import kernel as kernel_module
from gridveil.trusted.kernel import noise, strategies
from gridveil.trusted.kernel import questions as sums
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.trusted.kernel.transforms import Haar

LEVEL = "own[: len(some)] = some"
ASKS = "self._read_slabs(scope.window, scope.bound)"
ASKED = tuple(charging.QUESTIONS)


def test_a_forgotten_tree_level() -> None:
    """Of a tree that is one strategy, and of one whose levels are measured one after the other."""
    columns, account = "np.abs(matrix).sum(axis=0)", "self._accounts.get((window, bound)) or Account(window, bound)"
    check_caught(
        always_tried(losses.test_no_household_moves_the_answers_by_more_than_is_accounted_for, losses.WORST),
        mistake(strategies, "sum_columns", columns, columns.replace("sum", "max")),
        mistake(Kernel, "_charge_weights", account, "Account(window, bound)"),
        mistake(Kernel, "_charge_weights", "account.add(marks, weight)", "pass"),
    )


def test_a_forgotten_level_of_the_tree_recursion() -> None:
    check_caught(
        always_tried(losses.test_other_questions_cost_the_worst_over_all_households, losses.HAAR),
        mistake(Haar, "sensitivity", LEVEL, f"{LEVEL} if nodes > 1 else 0"),
    )


def test_a_forgotten_fixed_charge() -> None:
    """The histogram that a bound was chosen from, say, is not paid for once something else is."""
    charge = "fixed / (1 + 2 * ROUNDING)"
    check_caught(
        always_tried(losses.test_no_household_moves_the_answers_by_more_than_is_accounted_for, losses.WORST),
        mistake(Kernel, "_charge", f"self._fixed + {charge}", charge),
        mistake(kernel_module, "_largest_loss", "total.max() + fixed", "total.max()"),
    )


def test_a_staircase_charged_by_the_knapsack() -> None:
    """Shared out by the Wh, not for every step of the staircase begun: some outcome loses more than is accounted."""
    question = (
        'KernelQuestion("sums", scope, epsilon, lambda slabs: sum_slabs(slabs, marks, count), scales, {}, staircase)'
    )
    check_caught(
        always_tried(
            staircases.test_accounted_loss_is_at_least_the_worst_over_all_households, staircases.LITTLE_EVERYWHERE
        ),
        *(
            mistake(
                sums,
                "ask_staircase_sums",
                question.format(None),
                question.format(f"(marks, np.full(count, {weight}))"),
            )
            for weight in ("staircase.epsilon / delta", "1 / scales[0]")
        ),
        mistake(
            sums, "ask_staircase_sums", "compute_unit_scale(most_labels, epsilon)", "compute_unit_scale(1, epsilon)"
        ),
    )


def test_noise_for_a_bound_that_is_not_the_cubes() -> None:
    """A default where none was stated, a bound that is ignored, or the cube of another one from a cache."""
    check_caught(
        always_tried(losses.test_no_household_moves_the_answers_by_more_than_is_accounted_for, losses.WORST),
        mistake(Kernel, "_compute_exact", ASKS, "self._read_slabs(scope.window, self._bound)"),
        mistake(Kernel, "_compute_exact", ASKS, "self._read_slabs(scope.window, Bound(9, 99))"),
    )


def test_no_noise_where_there_is_nothing_to_scale_it_by() -> None:
    check_caught(
        lambda: kernels.test_scales_beyond_what_floats_hold_are_refused([1.0, 1.0], 1e20, sequential=False),
        mistake(noise, "check_scales", "(scales >= SMALLEST_SCALE).all()", "True", also=(kernel_module,)),
        by=pytest.fail.Exception,
    )


def test_a_budget_checked_after_answering() -> None:
    """What is refused has been drawn by then, and what fails half-way could be asked again and again for nothing."""
    first = "check_scales(question.scales)"
    asked = f"{first}; question.kind {{}} 'household_totals' and self._compute_exact(question)"
    check_caught(
        lambda: [charging.test_what_is_refused_touches_neither_source_nor_noise(kind, "source") for kind in ASKED],
        *(mistake(Kernel, "_answer", first, asked.format(comparison)) for comparison in ("!=", "==")),
        by=InterruptedError,
    )


def test_a_ledger_debited_after_answering() -> None:
    check_caught(
        lambda: [charging.test_the_ledger_is_debited_once_and_before_the_source_is_asked(kind) for kind in ASKED],
        mistake(Kernel, "_charge", "self._debit(window)", "pass"),
        mistake(Kernel, "_charge_weights", "self._debit(window)", "pass"),
    )
