"""What is taken and what is refused of a box, by the answer of its shell."""

from __future__ import annotations

import pytest

from middlewatch.daemon.remote.connection import Box, Done, script_for
from middlewatch.daemon.remote.probe import probe
from middlewatch.daemon.system.errors import UsageError

FINE = {
    "user": "me",
    "uid": "1000",
    "home": "/home/me",
    "host": "gpu-7",
    "system": "Linux",
    "machine": "x86_64",
    "glibc": "glibc 2.31",
    "free": "1000000",
    "other": "",
    "place": "/home/me/.middlewatch",
    "record": "",
}


class Told(Box):
    """A box that gives this answer."""

    def __init__(self, pythons: list[str], **changed: str) -> None:
        super().__init__("box3")
        self._lines = [f"{k}\t{v}" for k, v in (FINE | changed).items()]
        self._lines += [f"python\t{one}" for one in pythons]

    def run(self, script: str, given: str = "", *, tries: int = 1) -> Done:
        return Done(0, "\n".join(self._lines) + "\n", "")


def test_the_first_python_that_fits_is_taken() -> None:
    found = probe(Told(["3.8 /usr/bin/python3", "3.12 /opt/py/python3.12"]), index=False)
    assert found.python == "/opt/py/python3.12"
    assert found.target == ("3.12", "x86_64", 31)
    assert (found.free, found.index) == (1000000 * 1024, False)


@pytest.mark.parametrize(
    ("pythons", "changed", "words"),
    [
        (["3.8 /usr/bin/python3"], {}, "no Python from 3.10 to 3.13: 3.8"),
        ([], {}, "none with venv"),
        (["3.14 /usr/bin/python3"], {}, "3.14"),
        (["3.11 /usr/bin/python3"], {"glibc": ""}, "no glibc"),
        (["3.11 /usr/bin/python3"], {"machine": "riscv64"}, "riscv64"),
        (["3.11 /usr/bin/python3"], {"system": "FreeBSD"}, "FreeBSD"),
    ],
)
def test_what_cannot_run_it_is_told(
    pythons: list[str], changed: dict[str, str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        probe(Told(pythons, **changed), index=False)


@pytest.mark.parametrize("name", ["-oProxyCommand=touch /tmp/x", "", "a b\nc", "\x1b[2J"])
def test_a_name_that_is_an_option_is_no_box(name: str) -> None:
    with pytest.raises(UsageError, match="no name of a box"):
        Box(name)


def test_words_reach_the_program_as_they_are() -> None:
    script = script_for(["verify", "/w/it's a $HOME;x"])
    assert "'/w/it'\"'\"'s a $HOME;x'" in script
