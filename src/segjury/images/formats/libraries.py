"""Formats that a library decodes: whatever it raises of a strange file is an `InputError`."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator

from segjury.errors import InputError, unreadable

MOST_WORDS = 200  # of what a library says
_one_at_a_time = threading.RLock()  # as filters of warnings are those of all threads


@contextlib.contextmanager
def refuse_what_a_library_refuses() -> Iterator[None]:
    """Raise an `InputError` for whatever a library raises, and leave out what it warns of."""
    try:
        with _one_at_a_time, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except InputError:
        raise
    except OSError as error:
        raise unreadable(error) from None
    except Exception as error:  # libraries raise anything of a file that is damaged enough
        words = " ".join(str(error).split())[:MOST_WORDS] or type(error).__name__
        raise InputError(f"cannot be read ({words})", "Write or copy it again") from None
