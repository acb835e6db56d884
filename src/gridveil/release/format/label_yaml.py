"""YAML of labels that anybody may have written: read in bounded time, and nothing but plain values comes out."""

from __future__ import annotations

from typing import Any

import yaml

MOST_EVENTS = 2**19
"""Of the parser: values, and beginnings and ends of lists. Thirty thousand measurements have fewer."""
DEEPEST = 32
BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a hundred times as fast, where PyYAML was built with it


class _Loader(BASE):  # type: ignore[misc] # one of two
    def construct_yaml_int(self, node: Any) -> int:  # noqa: ANN401 - PyYAML's signature
        """Read an integer."""
        return int(super().construct_yaml_int(self._decimal(node)))

    def construct_yaml_float(self, node: Any) -> float:  # noqa: ANN401 - PyYAML's signature
        """Read a number."""
        return float(super().construct_yaml_float(self._decimal(node)))

    def _decimal(self, node: Any) -> Any:  # noqa: ANN401 - PyYAML's signature
        """Refuse numbers to the base of 60, which take time that grows with the square of their length."""
        if ":" in self.construct_scalar(node):
            msg = "a number with colons: put texts in quotes"
            raise yaml.YAMLError(msg)
        return node


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_yaml_float)


def parse(text: str) -> object:
    """Return what a text says, or raise a `YAMLError` or `ValueError`.

    >>> parse("a: [1, 2.5, 2013-02-04]")
    {'a': [1, 2.5, datetime.date(2013, 2, 4)]}
    """
    _check_events(text)
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except (LookupError, AttributeError, TypeError) as error:  # what PyYAML makes of a tag on a wrong value: !!int ""
        msg = f"a value is not of the type that its tag says ({error})"
        raise ValueError(msg) from error


def _check_events(text: str) -> None:
    """Refuse, before anything is built, what would be more than a label: in depth, in number, and by aliases.

    A few lines of aliases can stand for more text than memory holds.
    """
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=BASE)):
        if isinstance(event, yaml.AliasEvent):
            msg = "aliases are not allowed"
            raise yaml.YAMLError(msg)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST or number > MOST_EVENTS:
            msg = "it is deeper or longer than any label"
            raise yaml.YAMLError(msg)
