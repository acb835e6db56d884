"""Bodies of requests: read beside the loop that answers everybody, and refused at the first mistake.

FastAPI would read them in that loop, and collect every mistake of a long list before it tells the first.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from gridveil.model.errors import UsageError
from gridveil.serve.desk import LARGE_BODY, Desk

JSON = "application/json"
NOT_MARKED = f"The body is not said to be JSON: send the header Content-Type: {JSON}."
NOT_JSON = "The body is not JSON."
NO_OBJECT = 'The body: give an object, such as {"x": [0, 10], "y": [0, 10]}.'

Given = TypeVar("Given", bound=BaseModel)


async def sent(request: Request) -> bytes:
    """Return the bytes that were sent, as JSON."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise UsageError(NOT_MARKED, code="body-not-json-type")
    return await request.body()


def given(model: type[Given]) -> Callable[..., Given]:
    """Return what reads a body. It is not async: FastAPI runs it in a thread."""

    def read(request: Request, body: Annotated[bytes, Depends(sent)]) -> Given:
        desk: Desk = request.app.state.desk
        with desk.reading_room.turn() if len(body) > LARGE_BODY else nullcontext():
            return understood(body, model)

    return read


def described(model: type[BaseModel]) -> dict[str, Any]:
    """Return what the OpenAPI document says of a body."""
    return {"requestBody": {"required": True, "content": {JSON: {"schema": model.model_json_schema()}}}}


def understood(body: bytes, model: type[Given]) -> Given:
    """Return a body as what it says, or tell the first mistake in it."""
    try:
        content = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise UsageError(NOT_JSON, code="body-not-json") from error
    if not isinstance(content, dict):
        raise UsageError(NO_OBJECT, code="body-not-object")
    for name in content:
        if name not in model.model_fields:
            raise RequestValidationError([{"loc": ("body", name), "msg": "", "type": "extra_forbidden"}])
    try:
        return model.model_validate(content)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise RequestValidationError([{**fault, "loc": ("body", *fault["loc"])}]) from error
