"""Commands as a person types them."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
from unittest import mock

from segjury.cli import main

Done = subprocess.CompletedProcess[str]


def segjury(*arguments: object, cwd: str | os.PathLike[str] = ".") -> Done:
    """Run a command in this process, which spares its start; what it says and its exit code."""
    words = ["segjury", *map(str, arguments)]
    out, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code: int | str | None = 0
    before = signal.getsignal(signal.SIGTERM)
    try:
        with (
            contextlib.chdir(cwd),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(errors),
            mock.patch.object(sys, "argv", words),
        ):
            main()
    except SystemExit as end:
        code = end.code
    finally:
        signal.signal(signal.SIGTERM, before)
    assert code is None or isinstance(code, int), code
    said = (stream.buffer.getvalue().decode("utf-8") for stream in (out, errors))
    return subprocess.CompletedProcess(words, code or 0, *said)


def segjury_apart(*arguments: object, **options: object) -> Done:
    """Run a command in a process of its own."""
    words = [sys.executable, "-m", "segjury", *map(str, arguments)]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run(words, text=True, check=False, **how)
