"""Voxels from a stream, raw or compressed: never more of it than was asked for."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from segjury.arrays import Span, nonzero_spans
from segjury.errors import InputError, unreadable

PIECE_BYTES = 1 << 20  # read at a time: fits the cache, and threads seldom wait for each other
INPUT_BYTES = 1 << 17
Change = Callable[[NDArray[Any]], NDArray[Any]]
BrokenDeflateError: type[Exception] = cast("type[Exception]", isal_zlib.error)  # its stub is off


class Inflated(io.RawIOBase):
    """The content of zlib data in a file, made only as far as it is read.

    `bare` data have neither zlib's header nor its checksum, as in a zip archive.
    """

    def __init__(self, file: BinaryIO, *, bare: bool = False) -> None:
        super().__init__()
        self._file = file
        bits = -isal_zlib.MAX_WBITS if bare else isal_zlib.MAX_WBITS
        self._inflate: Any = isal_zlib.decompressobj(bits)
        self._waiting = b""

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, memory: Any) -> int:
        """Fill `memory` as far as one step goes; 0 at the end of the data."""
        view = memoryview(memory).cast("B")
        while not self._inflate.eof:
            data = self._waiting or self._file.read(INPUT_BYTES)
            content = self._inflate.decompress(data, len(view))  # may hold some back without data
            self._waiting = self._inflate.unconsumed_tail
            if content:
                view[: len(content)] = content
                return len(content)
            if not data:
                raise EOFError("it is cut short")
        return 0


@contextlib.contextmanager
def refuse_broken_data() -> Iterator[None]:
    """Raise an `InputError` for whatever reading broken data raises."""
    try:
        yield
    except EOFError:
        raise InputError("is cut short", "Write or copy it again") from None
    except OverflowError:  # of ISA-L, whose buffer it does not fit into
        raise InputError("has a gzip header that is too long", "Write it again") from None
    except BrokenDeflateError as error:
        raise InputError(f"cannot be read ({error})", "Write or copy it again") from None
    except OSError as error:
        raise unreadable(error) from None


def read_exactly(stream: Any, count: int) -> bytes:
    """The next `count` bytes, which must be few: they are taken at once."""
    content = bytearray(count)
    _fill(stream, memoryview(content))
    return bytes(content)


def skip(stream: Any, count: int) -> None:
    """Go past `count` bytes."""
    while count > 0:
        count -= len(read_exactly(stream, min(count, PIECE_BYTES)))


def as_stored(values: NDArray[Any]) -> NDArray[Any]:
    """The values themselves."""
    return values


def read_values(
    stream: Any,
    count: int,
    dtype: np.dtype[Any],
    change: Change = as_stored,
    *,
    keeps_zero: bool = True,
) -> tuple[NDArray[Any], tuple[Span, ...]]:
    """Read voxels, in our byte order, and tell the spans outside which all are 0.

    Pieces pass through a small buffer that stays in the cache, and stretches of zeros are not
    copied on. The memory behind them is then never touched, so that an almost empty volume costs
    neither memory nor the time to get it: reading is several times faster. `change` is done to
    what is copied on, which is all unless it keeps 0 as it is.
    """
    values = np.zeros(count, change(np.empty(0, dtype)).dtype.newbyteorder("="))
    buffer = np.empty(PIECE_BYTES // dtype.itemsize, dtype)
    spans = []
    for start in range(0, count, buffer.size):
        piece = buffer[: min(buffer.size, count - start)]
        _fill(stream, memoryview(piece.view(np.uint8).data))
        for first, last in nonzero_spans(piece) if keeps_zero else [(0, piece.size)]:
            values[start + first : start + last] = change(piece[first:last])
            spans.append((start + first, start + last))
    return values, tuple(spans)


def _fill(stream: Any, memory: memoryview) -> None:
    while memory:
        count = stream.readinto(memory)
        if not count:
            raise EOFError("it is cut short")
        memory = memory[count:]
