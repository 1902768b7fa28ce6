"""What is looked for in a line before its patterns are: from the patterns, and never too little."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable

import pytest

from middlewatch.daemon.parsers import frameworks, literals, phases
from middlewatch.daemon.parsers.events import EventReader
from middlewatch.daemon.parsers.literals import NotProved, derive, strength
from middlewatch.daemon.parsers.matcher import INDEX, hints_of
from middlewatch.daemon.parsers.numbers.prefixes import rank_prefix
from middlewatch.daemon.parsers.numbers.program_text import is_code
from middlewatch.daemon.parsers.prefilter import ENGINES, AtomFinder, atoms, finder
from middlewatch.daemon.parsers.signatures import SIGNATURES, Signature
from middlewatch.daemon.parsers.tracebacks import OPENINGS, Tracebacks
from middlewatch.sentinels.kit import LogEvent

from .prefilter_tables import TABLE, asked, table
from .wordings import Wordings

TRIES = 40
"""Lines tried for each pattern, and :data:`TRIES_PER_ARM` more for each of its alternatives."""
TRIES_PER_ARM = 4


def test_the_table_is_what_the_patterns_give() -> None:
    assert TABLE.read_text(encoding="utf-8") == table(), "prefilter_tables.py makes it anew"


def test_a_pattern_that_is_not_in_the_table_is_walked() -> None:
    assert atoms("new wording|another (?:one|way) to say it") == (
        "another one to say it",
        "another way to say it",
        "new wording",
    )


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("Out of memory", {"out of memory"}),
        (r"exit code 137\b", {"exit code "}),  # lines of one shape differ in their digits
        ("(?i:disk) FULL", {"disk full"}),
        ("(?i:Ёлка) is on fire", {" is on fire"}),  # case of other letters is not folded
        ("Ёлка", {"Ёлка"}),
        ("^(?!.*calm).*(?<=a )storm(?= now)", {"storm"}),
        ("device (?:was )?lost from bus", {"lost from bus"}),
        ("(?:lost|gone) gpu0|GPU[- ]gone", {"lost gpu", "gone gpu", "gpu-gone", "gpu gone"}),
        ("a{3}rgh+!", {"aaargh"}),
        (r"broken (?P<what>pipe|wire) (?P=what)", {"broken pipe ", "broken wire "}),
    ],
)
def test_what_a_pattern_gives(pattern: str, found: set[str]) -> None:
    assert set(derive(pattern)) == found


def test_narrow_is_taken_where_it_is_proved() -> None:
    pattern = r"\[proxy:\d+\] assert.{0,80} failed|mpi died"
    assert derive(pattern, ("[proxy:",)) == ("[proxy:", "mpi died")


@pytest.mark.parametrize(
    ("pattern", "narrow"),
    [
        ("mpi died", ("proxy",)),  # in no alternative
        ("mpi (?:died badly)*", ("died",)),  # may be missing
        ("mpi.*died", ("mpi died",)),  # something may stand between
    ],
)
def test_narrow_that_says_too_much_is_refused(pattern: str, narrow: tuple[str, ...]) -> None:
    with pytest.raises(NotProved):
        derive(pattern, narrow)


@pytest.mark.parametrize("pattern", [r"\d+|out of memory", "error|lost", "(?:abc)?", "."])
def test_an_alternative_without_a_text_is_refused(pattern: str) -> None:
    with pytest.raises(NotProved):
        derive(pattern)


def test_atoms_are_folded_and_hold_no_digit() -> None:
    for pattern, narrow in asked():
        for atom in atoms(pattern, narrow):
            assert atom == literals.fold(atom)
            assert not re.search(r"\d", atom), (pattern, atom)
            assert atom in narrow or strength(atom) >= literals.WEAKEST, (pattern, atom)


@pytest.fixture(scope="module", params=["standard library", *ENGINES])
def engine(request: pytest.FixtureRequest) -> AtomFinder | None:
    if request.param not in ENGINES:
        return None
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed (middlewatch[fast])")
    return finder(request.param, INDEX.atoms)


def told(line: str, engine: AtomFinder | None) -> set[str]:
    reader = EventReader("a.log", finder=engine)
    said = [*reader.feed(f"{line}\n".encode(), 1.0), *reader.finish(1.0)]
    return {seen.trouble for seen in said if isinstance(seen, LogEvent)}


def spoken_of(line: str, search: Callable[[str], object]) -> bool:
    """The line is one whose troubles are asked for, and not of a listing or a traceback."""
    rest = line[rank_prefix(line)[1] :]
    return bool(search(rest)) and not is_code(rest) and not Tracebacks.concerns(rest)


def lines_of(pattern: str) -> list[str]:
    """Lines that the pattern matches, of all its wordings."""
    wordings = Wordings(pattern)
    tries = TRIES + TRIES_PER_ARM * wordings.arms
    lines = list(wordings.lines(tries))
    assert len(lines) > tries / 40, pattern
    return lines


@pytest.mark.parametrize("row", SIGNATURES, ids=lambda row: row.id)
def test_every_wording_reaches_its_pattern(row: Signature) -> None:
    index = SIGNATURES.index(row)
    missed = [
        line
        for line in lines_of(row.pattern)
        if index not in hints_of(line.encode("utf-8", "surrogateescape")).rows
    ]
    assert not missed


@pytest.mark.parametrize("row", SIGNATURES, ids=lambda row: row.id)
def test_every_wording_is_told_through_every_engine(
    row: Signature, engine: AtomFinder | None
) -> None:
    search = re.compile(row.pattern).search
    lines = [line for line in lines_of(row.pattern) if spoken_of(line, search)]
    assert lines
    assert [line for line in lines if row.trouble not in told(line, engine)] == []


def test_every_wording_of_a_phase_reaches_its_pattern() -> None:
    for i, phase in enumerate(phases.PHASES):
        for line in lines_of(phase.pattern):
            assert i in hints_of(line.encode()).phases, line


def test_every_wording_of_a_claim_reaches_its_pattern() -> None:
    for claim in phases.SAVED:
        for line in lines_of(claim.pattern):
            assert hints_of(line.encode()).saved, line


def test_every_opening_of_a_traceback_reaches_its_pattern() -> None:
    for opening in OPENINGS:
        for line in lines_of(opening):
            assert hints_of(line.encode()).trace, line


def test_every_line_that_gives_a_framework_away_reaches_its_pattern() -> None:
    for name, pattern in frameworks.LINES:
        for line in lines_of(pattern):
            low = literals.fold(line)
            assert any(atom in low for atom in atoms(pattern)), (name, line)


@pytest.mark.parametrize(
    ("line", "trouble"),
    [
        ("sbatch: Invalid partition name", "launch_error"),
        ("ckpt write failed: disk quota", "ckpt_write_failed"),
        ("write error: errno 28", "disk_full"),
        ("nan found in train loss", "loss_nan"),
        ("hipErrorInvalidPc", "cuda_launch_failure"),
        ("checkpoint sizes mismatch", "ckpt_mismatch"),
    ],
)
def test_wordings_that_once_went_unseen(line: str, trouble: str, engine: AtomFinder | None) -> None:
    assert trouble in told(line, engine)
