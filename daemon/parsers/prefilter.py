"""Which lines can match which patterns at all, found without trying the patterns.

Every pattern has *atoms*: texts without digits in ASCII lower case, one of which is in every
line that the pattern matches. :func:`atoms` takes them from the pattern itself. A line with no
atom needs no pattern, and nearly all lines of a healthy log have none.

Two ways of looking for them, equal in what they find. :class:`AtomIndex` looks at one line:
looking for two thousand atoms one by one would cost 60 µs, but the *words* of a log repeat far more
than its lines do, so each atom is hung up at its most telling run of letters, and which of these
stems a word holds is worked out once per word. The engines of ``middlewatch[fast]`` look at a
block of text at memory speed.
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
"""Words remembered; when full, all are forgotten. A log of pure noise fills 1 MB at most."""
MAX_WORD = 64
"""Longer words (encoded data) are looked at, and not remembered."""

_LETTERS = bytes(c + 32 if 65 <= c <= 90 else c if 97 <= c <= 122 else 32 for c in range(256))
"""Translation of every byte: ASCII letters to lower case, anything else to a blank."""
_RUN = re.compile(r"[a-z]+")
MIN_STEM = 3

ENGINES = ("hyperscan", "re2")
"""Fastest first: about 2,000 and 400 MiB/s on one core for four hundred atoms."""
RE2_MEMORY = 64 << 20
"""Upper bound of re2's automaton; it holds far less, and falls back to a slower way above."""


def key_of(pattern: str, narrow: Sequence[str] = ()) -> int:
    """What a pattern is found by in the table of atoms."""
    return zlib.crc32("\0".join((pattern, *narrow)).encode())


def atoms(pattern: str, narrow: Sequence[str] = ()) -> tuple[str, ...]:
    """Atoms of a pattern; ``narrow`` as in :func:`.literals.derive`.

    They stand in a table, because walking all patterns takes some seconds.
    A pattern that is not in it, because it was edited just now, is walked here.
    """
    known = ATOMS.get(key_of(pattern, narrow))
    if known is not None:
        return known
    from .literals import derive  # here: nobody else pays for it

    return derive(pattern, narrow)


class AtomIndex:
    """Finds atoms in lines; each atom stands for a few numbers."""

    def __init__(self, atoms: Mapping[str, Collection[int]]) -> None:
        self.atoms: dict[bytes, tuple[int, ...]] = {
            atom.encode(): tuple(ids) for atom, ids in atoms.items()
        }
        self._by_stem: dict[bytes, list[bytes]] = {}
        self._stemless: list[bytes] = []
        """Atoms that are all signs and digits."""
        self._unstemmed: list[bytes] = []
        """The same, and those of scripts without ASCII letters."""
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
        """The numbers of all atoms that are in the line, whatever its case (ASCII only)."""
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
        """The atoms that a line with this word may hold."""
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
    """How few words hold this run of letters."""
    return (
        1 + len(run) / 32 if USUAL_WORDS.fullmatch(run) and len(run) >= MIN_STEM else len(run) / 2
    )


class AtomFinder(Protocol):
    """Finds atoms."""

    engine: str

    def find(self, text: bytes) -> Iterable[int]:
        """Offsets, ascending, each within a line that holds an atom; every such line has one."""


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
