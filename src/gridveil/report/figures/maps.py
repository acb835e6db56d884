"""Maps of a cube as PNG: pale to dark on one colour scale for all, hatched where they are uncertain."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats

Kind = TypeVar("Kind", bound=np.generic)

# Dark to bright in even steps, also for colour-blind eyes: matplotlib's "magma", which is in the public domain, with a
# paler end. The page of `gridveil serve` has the same colours, in the same direction: pale is little.
STOPS = (
    "000004 0b0924 20114b 3b0f70 57157e 721f81 8c2981 a8327d c43c75 de4968 f1605d fa7f5e fe9f6d febf84 fddfb2 fdf8ee"
)
DARKEST = 0.07  # the blackest part is left out: on paper it looks like a hole
COLOURS = 128  # as many again are for hatches: a palette has 256
HATCH_MIX, HALF_BRIGHT = 0.24, 105
HATCH_EVERY, HATCH_WIDTH = 8, 3  # pixels


@dataclass(frozen=True)
class ColourScale:
    """Colours from zero to `top` kWh, by square root: quiet cells stay visible next to the centre."""

    top: float

    @classmethod
    def of(cls, kwh: Floats) -> ColourScale:
        """Return the scale that these values fill."""
        return cls(max(float(kwh.max()), 0.0) or 1.0)

    def places(self, kwh: Floats) -> Floats:
        """Return places on the colour bar, 0 to 1.

        >>> ColourScale(4.0).places(np.array([-1.0, 1.0, 4.0, 9.0]))
        array([0. , 0.5, 1. , 1. ])
        """
        return np.sqrt(np.clip(kwh / self.top, 0.0, 1.0))

    def marks(self) -> list[tuple[float, float]]:
        """Return places on the colour bar and their kWh."""
        return [(place, self.top * place**2) for place in (0, 0.25, 0.5, 0.75, 1)]


def map_uri(
    kwh: Floats, scale: ColourScale, *, uncertain: NDArray[np.bool_] | None = None, cell: tuple[int, int] = (1, 1)
) -> str:
    """Return a map (y, x), north up, as the data URI of a PNG; cell: its pixels each way.

    uncertain: cells to hatch; they need some pixels for that.
    """
    colours = np.rint(scale.places(kwh) * (COLOURS - 1)).astype(np.uint8)
    pixels = _enlarged(colours, cell)
    if uncertain is not None:
        rows, columns = np.indices(pixels.shape)
        lines = (rows + columns) % HATCH_EVERY < HATCH_WIDTH
        pixels = np.where(lines & _enlarged(uncertain, cell), pixels + COLOURS, pixels).astype(np.uint8)
    return "data:image/png;base64," + base64.b64encode(_png(pixels, _palette())).decode()


def bar_uri() -> str:
    """Return the colours of a scale from left to right as the data URI of a PNG."""
    return map_uri(np.linspace(0, 1, COLOURS)[None] ** 2, ColourScale(1.0))


def hatch_uri() -> str:
    """Return a hatched patch, for the key of a map."""
    middle = np.full((1, 1), 0.1)
    return map_uri(middle, ColourScale(1.0), uncertain=np.ones((1, 1), bool), cell=(4 * HATCH_EVERY, 2 * HATCH_EVERY))


def _enlarged(plane: NDArray[Kind], cell: tuple[int, int]) -> NDArray[Kind]:
    """Return a plane (y, x) as rows of pixels from the north."""
    return plane[::-1].repeat(cell[1], axis=0).repeat(cell[0], axis=1)


def _palette() -> NDArray[np.uint8]:
    """Return the colours, and the same mixed with what they stand out from, black or white, for hatches."""
    stops = np.array([list(bytes.fromhex(stop)) for stop in STOPS.split()], float)
    at = np.linspace(1, DARKEST, COLOURS) * (len(stops) - 1)
    plain = np.stack([np.interp(at, range(len(stops)), channel) for channel in stops.T], axis=1)
    ends = np.where(plain.mean(axis=1, keepdims=True) > HALF_BRIGHT, 40.0, 255.0)
    mixed = plain + (ends - plain) * HATCH_MIX
    colours: NDArray[np.uint8] = np.rint(np.concatenate([plain, mixed])).astype(np.uint8)
    return colours


def _png(pixels: NDArray[np.uint8], palette: NDArray[np.uint8]) -> bytes:
    """Return rows of palette numbers as a PNG."""
    height, width = pixels.shape
    rows = np.zeros((height, width + 1), np.uint8)  # each row begins with its filter, none
    rows[:, 1:] = pixels
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = (
        (b"IHDR", header),
        (b"PLTE", palette.tobytes()),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    )
