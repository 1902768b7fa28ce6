"""What the system said, in whatever language and dress a program passes it on."""

from __future__ import annotations

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.parsers.errno_texts import TEXTS
from middlewatch.daemon.parsers.errnos import CLASSES, class_of, errno_of
from middlewatch.sentinels.kit.classes import ROWS

ALL = sorted((text, name) for name, texts in TEXTS.items() for text in texts.split("|"))
DRESSES = (
    "{}",
    "seq: write error: {}",
    'Error: Os {{ code: 99, message: "{}" }}',
    "{} at train.pl line 3.",
    "train.sh: line 3: 27981 {}        ./train --fast",
    "Error: {} [OSError]",
    "ОШИБКА：{}。",
)


@given(st.sampled_from(ALL), st.sampled_from(DRESSES))
def test_every_text_is_known_in_every_dress(known: tuple[str, str], dress: str) -> None:
    text, name = known
    told = errno_of(dress.format(text))
    # two numbers may have one text: "Aborted" of a connection and of a program
    assert told == name or text in TEXTS[told].split("|")


@pytest.mark.parametrize("name", sorted(set(TEXTS) & set(errno.errorcode.values())))
def test_the_texts_are_those_of_this_system(name: str) -> None:
    assert errno_of(f"open: {os.strerror(getattr(errno, name))}") == name


@pytest.mark.parametrize(
    ("line", "trouble"),
    [
        ("writing model.bin failed (os error 28)", "disk_full"),
        ("connect ECONNREFUSED 10.0.0.1:443", "network_error"),
        ("{badmatch,{error,enospc}}", "disk_full"),
        ("cp: Auf dem Gerät ist kein Speicherplatz mehr verfügbar", "disk_full"),
        ("rank 3: connect: Connection refused", ""),
        ("open data.csv: no such file or directory", ""),
        ("epoch 3 done, saved EMA weights", ""),
        ("Error rate 0.28", ""),
    ],
)
def test_the_class_that_it_means(line: str, trouble: str) -> None:
    assert class_of(line) == trouble


def test_all_classes_are_known() -> None:
    assert set(CLASSES.values()) <= set(ROWS)
    assert set(CLASSES) <= set(TEXTS) | set(errno.errorcode.values())


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    errno_of(text)
