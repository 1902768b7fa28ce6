"""Which of many short texts occur in a line, without looking for each of them.

Every signature, phase and claim names *atoms*: lower-case texts, one of which is in every
line that its pattern matches. A line with no atom needs no pattern, and nearly all lines of
a healthy log have none. Looking for some hundred atoms one by one costs 15 µs a line. But the
*words* of a log repeat far more than its lines do: each atom is hung up at its longest run
of letters, and which of these stems a word holds is worked out once per word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

MAX_WORDS = 8192
"""Words remembered; when full, all are forgotten. A log of pure noise fills 1 MB at most."""
MAX_WORD = 64
"""Longer words (encoded data) are looked at, and not remembered."""

_LETTERS = bytes(c + 32 if 65 <= c <= 90 else c if 97 <= c <= 122 else 32 for c in range(256))
"""Translation of every byte: ASCII letters to lower case, anything else to a blank."""
_RUN = re.compile(r"[a-z]+")
MIN_STEM = 3


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
            stem = max(_RUN.findall(atom.decode()), key=len, default="")
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
