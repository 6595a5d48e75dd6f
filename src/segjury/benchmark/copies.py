"""Predictions that are another's: one file under two names, or the same content twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from segjury.benchmark.folders import escapes, prediction_inputs, reference_inputs
from segjury.errors import InputError
from segjury.protocols import Protocol

REFERENCE = ""  # stands for the reference among the methods, of which none is called so


@dataclass(frozen=True)
class Copy:
    """A prediction that is another's; `of` is the method it is of, or `REFERENCE`.

    `shared` says that both names lead to one file, as hard links do; else its content is the same.
    """

    case: str
    method: str
    file: str
    of: str
    original: str
    shared: bool

    @property
    def words(self) -> str:
        """What its file is."""
        return self._words(self.file, self.original)

    @property
    def words_of_any_case(self) -> str:
        """The same, where files are named as their cases, for several of these."""
        names = (self.file, self.original)
        return self._words(*(name.replace(self.case, "<case>") for name in names))

    def _words(self, file: str, original: str) -> str:
        whose = f"method {self.of}" if self.of else "the reference"
        what = "the same file as" if self.shared else "a copy of"
        return f"{file} is {what} {original} of {whose}"

    @property
    def error(self) -> InputError:
        """What to say where that is refused."""
        return InputError(self.words, "Put a file of its own there", kind="same-file")


@dataclass(frozen=True)
class _File:
    owner: str  # a method, or the reference
    path: Path
    identity: tuple[int, int]  # device and number of the file there
    size: int


@dataclass(frozen=True)
class InputFiles:
    """The files that a case and the methods' predictions of it are read from."""

    case: str
    files: tuple[_File, ...]

    @classmethod
    def of(
        cls,
        protocol: Protocol,
        reference: Path | None,
        predictions: Path,
        methods: Sequence[str],
        case: str,
        *,
        follow_links: bool = False,
    ) -> InputFiles:
        """Those that there are, but for links that are not followed."""
        given = reference_inputs(protocol, reference, case) if reference else []
        files = [_look_at(REFERENCE, path) for path in given]
        for method in methods:
            folder = predictions / method
            files += [
                _look_at(method, path)
                for path in prediction_inputs(protocol, folder, case)
                if follow_links or not escapes(path, folder)
            ]
        return cls(case, tuple(file for file in files if file and file.size))

    def shared(self) -> dict[str, Copy]:
        """The methods one of whose files is also the reference's or another method's."""
        names: dict[tuple[int, int], list[_File]] = defaultdict(list)
        for file in self.files:
            names[file.identity].append(file)
        found: dict[str, Copy] = {}
        for file in self.files:
            others = [other for other in names[file.identity] if other.owner != file.owner]
            if others and file.owner != REFERENCE:
                found.setdefault(file.owner, self._copy(file, others[0], shared=True))
        return found

    def copied(self, content: Callable[[Path], bytes]) -> Iterator[Copy]:
        """The methods that have a file with the content of the reference's, or all of another's.

        `content` is asked for a digest of those files alone whose size another has too.
        """
        of_reference = {file for file in self.files if file.owner == REFERENCE}
        sizes = {file.size for file in of_reference}
        if any(file.size in sizes for file in self.files if file.owner != REFERENCE):
            originals = {content(file.path): file for file in of_reference}
            for file in self.files:
                same = file.owner != REFERENCE and file.size in sizes
                if same and (original := originals.get(content(file.path))):
                    yield self._copy(file, original, shared=False)
        for group in _alike(self._by_method(), lambda file: file.size):
            for first, *others in _alike(group, lambda file: content(file.path)):
                for method in others:
                    yield self._copy(group[method][0], group[first][0], shared=False)

    def _by_method(self) -> dict[str, list[_File]]:
        files: dict[str, list[_File]] = defaultdict(list)
        for file in self.files:
            if file.owner != REFERENCE:
                files[file.owner].append(file)
        return files

    def _copy(self, file: _File, original: _File, *, shared: bool) -> Copy:
        names = (file.owner, file.path.name, original.owner, original.path.name)
        return Copy(self.case, *names, shared=shared)


def _look_at(owner: str, path: Path) -> _File | None:
    try:
        about = path.stat()
    except OSError:
        return None  # which reading it will tell
    return _File(owner, path, (about.st_dev, about.st_ino), about.st_size)


def _alike(
    files: Mapping[str, list[_File]], key: Callable[[_File], object]
) -> Iterator[dict[str, list[_File]]]:
    """Groups of methods that are equal in all of their files."""
    groups: dict[tuple[object, ...], dict[str, list[_File]]] = defaultdict(dict)
    for method, given in files.items():
        groups[tuple(map(key, given))][method] = given
    yield from (group for group in groups.values() if len(group) > 1)
