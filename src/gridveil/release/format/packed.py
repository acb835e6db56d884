"""Writing compressed chunks in several threads: HDF5 itself packs one after the other, most of the time it takes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from concurrent.futures import Executor
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridveil.release.format.files import Stored

LEVEL = 4
COMPRESSED = {"compression": "gzip", "compression_opts": LEVEL, "shuffle": True}
"""How a dataset is created whose chunks are written here."""

Place = tuple[int, ...]
Packed = Iterator[tuple[Place, bytes]]


def packed(dataset: Stored, first: int, slab: NDArray[Any], threads: Executor) -> Packed:
    """Begin to pack the chunks of a slab, and return them in order with their places.

    The slab begins at index `first` of the first axis, where chunks begin, and is whole along all others.
    """
    chunk = dataset.chunks
    corners = list(product(*(range(0, length, size) for length, size in zip(slab.shape, chunk, strict=True))))

    def pack(corner: Place) -> bytes:
        part = slab[tuple(slice(start, start + size) for start, size in zip(corner, chunk, strict=True))]
        whole = np.zeros(chunk, dtype=dataset.dtype)
        whole[tuple(map(slice, part.shape))] = part
        # HDF5's shuffle: the first bytes of all numbers, then the second ones, and so on.
        shuffled = whole.reshape(-1).view(np.uint8).reshape(-1, whole.itemsize).T.tobytes()
        return zlib.compress(shuffled, LEVEL)

    # `map` begins at once: whoever asked may do something else meanwhile.
    return zip(((first + at, *others) for at, *others in corners), threads.map(pack, corners), strict=True)


def write_packed(dataset: Stored, chunks: Packed) -> None:
    """Write packed chunks to their places."""
    for place, data in chunks:
        dataset.id.write_direct_chunk(place, data)
