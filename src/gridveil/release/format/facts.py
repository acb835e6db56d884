"""What the parts of a label are made of: strict models, and texts without characters that are not seen."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict

# Control characters, halves of characters, line separators, and what turns the direction of writing around.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069\ufffe\uffff]")


def _seen(text: str) -> str:
    """Return a text with blanks for characters that are not seen: it is shown in terminals, pages and HTTP headers."""
    return UNSEEN.sub(" ", text)


def plain(value: Any) -> Any:  # noqa: ANN401 - a mechanism may hand over numbers, texts, lists and mappings of them
    """Return what can be written as YAML and as JSON: plain Python for numpy's, texts for numbers not finite."""
    if isinstance(value, Mapping):
        return {_seen(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return _seen(value) if isinstance(value, str) else value


Text = Annotated[str, AfterValidator(_seen)]
Facts = Annotated[dict[str, Any], AfterValidator(plain)]


class FactsModel(BaseModel):
    """A group of facts: nothing in it that is not known, and nothing that changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
