"""Find out which lines can match which patterns at all, without trying the patterns.

Every pattern has *atoms*: texts without digits, with ASCII letters in lower case. Every line that
the pattern matches contains at least one of them. :func:`atoms` derives them from the pattern. No
pattern is tried on a line without an atom, and nearly all lines of a healthy log have none.

There are two ways to search for atoms, with the same result. :class:`AtomIndex` searches one line.
To try two thousand atoms one by one would take 60 µs. But the words of a log repeat much more
often than its lines, so each atom is filed under a *stem*, its rarest run of letters, and the stems
in a word are found once per word. The engines of ``middlewatch[fast]`` search a block of text at
the speed of memory.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from .prefilter_table import ATOMS
from .text import USUAL_WORDS

MAX_WORDS = 8192
"""Limit on the words that are kept; when it is reached, all are dropped. They take 1 MB at most."""
MAX_WORD = 64
"""Characters: longer words (encoded data) are searched, but not kept."""

_LETTERS = bytes(c + 32 if 65 <= c <= 90 else c if 97 <= c <= 122 else 32 for c in range(256))
"""Translation of every byte: ASCII letters to lower case, anything else to a blank."""
_RUN = re.compile(r"[a-z]+")
MIN_STEM = 3

ENGINES = ("hyperscan", "re2")
"""Fastest first: about 2,000 and 400 MiB/s on one core, for four hundred atoms."""
RE2_MEMORY = 64 << 20
"""Bytes: limit for the automaton of re2, which takes far less; above it re2 is slower."""


def key_of(pattern: str, narrow: Sequence[str] = ()) -> int:
    """The key of a pattern in the table of atoms."""
    return zlib.crc32("\0".join((pattern, *narrow)).encode())


def atoms(pattern: str, narrow: Sequence[str] = ()) -> tuple[str, ...]:
    """Atoms of a pattern; ``narrow`` as in :func:`.literals.derive`.

    They come from a table, because to derive those of all patterns takes some seconds. For a
    pattern that is not in the table, because it was just edited, they are derived here.
    """
    known = ATOMS.get(key_of(pattern, narrow))
    if known is not None:
        return known
    from .literals import derive  # rarely needed

    return derive(pattern, narrow)


class AtomIndex:
    """Finds atoms in lines; each atom stands for the indices of its patterns."""

    def __init__(self, atoms: Mapping[str, Collection[int]]) -> None:
        self.atoms: dict[bytes, tuple[int, ...]] = {
            atom.encode(): tuple(ids) for atom, ids in atoms.items()
        }
        self._by_stem: dict[bytes, list[bytes]] = {}
        self._stemless: list[bytes] = []
        """ASCII atoms without a run of letters that is long enough for a stem."""
        self._unstemmed: list[bytes] = []
        """These, and the atoms in other scripts."""
        for atom in self.atoms:
            stem = max(_RUN.findall(atom.decode()), key=_telling, default="")
            if len(stem) < MIN_STEM:
                self._unstemmed.append(atom)
                if atom.isascii():
                    self._stemless.append(atom)
            else:
                self._by_stem.setdefault(stem.encode(), []).append(atom)
        self._by_head: dict[bytes, list[bytes]] = {}
        for known in self._by_stem:
            self._by_head.setdefault(known[:MIN_STEM], []).append(known)
        self._words: dict[bytes, tuple[bytes, ...]] = {}

    def find(self, line: bytes) -> set[int]:
        """The indices of all atoms in the line; the case of ASCII letters does not matter."""
        low = line.lower()
        found: set[int] = set()
        for atom in self._stemless if low.isascii() else self._unstemmed:
            if atom in low:
                found.update(self.atoms[atom])
        words = self._words
        for word in set(line.translate(_LETTERS).split()):
            atoms = words.get(word)
            if atoms is None:
                atoms = self._learn(word)
            for atom in atoms:
                if atom in low:
                    found.update(self.atoms[atom])
        return found

    def _learn(self, word: bytes) -> tuple[bytes, ...]:
        """The atoms that a line with this word may contain."""
        heads = self._by_head
        stems = {
            stem
            for i in range(len(word) - MIN_STEM + 1)
            for stem in heads.get(word[i : i + MIN_STEM], ())
            if word.startswith(stem, i)
        }
        atoms = tuple(a for stem in stems for a in self._by_stem[stem])
        if len(word) <= MAX_WORD:
            if len(self._words) >= MAX_WORDS:
                self._words.clear()
            self._words[word] = atoms
        return atoms


def _telling(run: str) -> float:
    """How rare this run of letters is in words; higher is rarer."""
    return (
        1 + len(run) / 32 if USUAL_WORDS.fullmatch(run) and len(run) >= MIN_STEM else len(run) / 2
    )


class AtomFinder(Protocol):
    """A search engine for atoms."""

    engine: str

    def find(self, text: bytes) -> Iterable[int]:
        """Ascending offsets, at least one in every line that contains an atom, and in no other."""


class Hyperscan:
    """`python-hyperscan`_: all atoms in one automaton, vectorised.

    .. _python-hyperscan: https://github.com/darvid/python-hyperscan
    """

    engine = "hyperscan"

    def __init__(self, atoms: Iterable[bytes]) -> None:
        hyperscan: Any = import_module("hyperscan")
        patterns = [_escaped(atom) for atom in atoms]
        self._database: Any = hyperscan.Database()
        self._database.compile(
            expressions=patterns,
            ids=list(range(len(patterns))),
            elements=len(patterns),
            flags=[hyperscan.HS_FLAG_CASELESS] * len(patterns),
        )

    def find(self, text: bytes) -> Iterable[int]:
        """As in :class:`AtomFinder`."""
        ends: list[int] = []
        append = ends.append

        def found(_id: int, _start: int, end: int, _flags: int, _context: object) -> None:
            append(end - 1)

        self._database.scan(text, match_event_handler=found)
        return ends


class Re2:
    """google-re2: one alternation, a lazily built automaton."""

    engine = "re2"

    def __init__(self, atoms: Iterable[bytes]) -> None:
        re2: Any = import_module("re2")
        options = re2.Options()
        options.case_sensitive = False
        options.encoding = re2.Options.Encoding.LATIN1
        options.max_mem = RE2_MEMORY
        options.log_errors = False
        self._pattern: Any = re2.compile(b"|".join(map(_escaped, atoms)), options)

    def find(self, text: bytes) -> Iterable[int]:
        """As in :class:`AtomFinder`."""
        return (match.start() for match in self._pattern.finditer(text))


def _escaped(atom: bytes) -> bytes:
    """A literal for both engines; bytes beyond ASCII as escapes, which both take as bytes."""
    return b"".join(bytes((c,)) if chr(c).isalnum() and c < 128 else b"\\x%02x" % c for c in atom)


def finder(name: str, atoms: Iterable[bytes]) -> AtomFinder:
    """The engine of that name; raises ImportError where it is not installed."""
    return Hyperscan(atoms) if name == "hyperscan" else Re2(atoms)


def best_finder(atoms: Iterable[bytes]) -> AtomFinder | None:
    """The fastest engine that is installed and works here, or ``None``."""
    wanted = tuple(atoms)
    for name in ENGINES:
        try:
            return finder(name, wanted)
        except (ImportError, OSError, RuntimeError):
            continue
    return None
