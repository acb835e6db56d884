"""Reads the attacker's rates from what gridveil prints."""

import re


def stated_rates(told: str) -> list[tuple[str, str]]:
    """Return the rates in percent that a text states, and the losses behind them."""
    return re.findall(r": at most ([0-9.]+) % \(loss ([0-9.]+)\)", told)
