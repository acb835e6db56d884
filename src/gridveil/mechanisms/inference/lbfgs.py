"""Minimisation of a smooth function without constraints: L-BFGS (Nocedal and Wright, Algorithm 7.5).

Not scipy's: scipy is no dependency of the package, and another line search would change what `hdmm` publishes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from gridveil.model.units import Floats

Function = Callable[[Floats], tuple[float, Floats]]
"""Returns value and gradient at a point."""

MEMORY = 20
FIRST_STEP = 0.1
ARMIJO = 1e-4
SHORTEST_STEP = 1e-10
CURVED = 1e-12


def minimise(function: Function, start: Floats, *, tolerance: float = 1e-6, most_steps: int = 500) -> Floats:
    """Return a point near a local minimum: it stops when a step lowers the value by less than the tolerance, relative.

    >>> minimise(lambda x: (float(1 + ((x - 3) ** 2).sum()), 2 * (x - 3)), np.zeros(2), tolerance=1e-12).round(6)
    array([3., 3.])
    """
    point = start
    value, gradient = function(point)
    memory: deque[tuple[Floats, Floats]] = deque(maxlen=MEMORY)
    for _ in range(most_steps):
        direction = -_newton(gradient, memory)
        slope, step = float(np.vdot(gradient, direction)), 1.0
        after, gradient_after = function(point + direction)
        while after > value + ARMIJO * step * slope and step > SHORTEST_STEP:
            step /= 2
            after, gradient_after = function(point + step * direction)
        if not after < value:
            return point
        moved, turned = step * direction, gradient_after - gradient
        if np.vdot(moved, turned) > CURVED * np.linalg.norm(moved) * np.linalg.norm(turned):
            memory.append((moved, turned))
        done = value - after < tolerance * abs(value)
        point, value, gradient = point + moved, after, gradient_after
        if done:
            break
    return point


def _newton(gradient: Floats, memory: deque[tuple[Floats, Floats]]) -> Floats:
    """Return the gradient times an estimate of the inverse Hessian, from the last moves and turns of the gradient."""
    if not memory:
        return gradient * (FIRST_STEP / max(float(np.abs(gradient).max()), np.finfo(np.float64).tiny))
    result, shares = gradient.copy(), []
    for moved, turned in reversed(memory):
        share = np.vdot(moved, result) / np.vdot(moved, turned)
        result -= share * turned
        shares.append(share)
    moved, turned = memory[-1]
    result *= np.vdot(moved, turned) / np.vdot(turned, turned)
    for (moved, turned), share in zip(memory, reversed(shares), strict=True):
        result += moved * (share - np.vdot(turned, result) / np.vdot(moved, turned))
    return result
