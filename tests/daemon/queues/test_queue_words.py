"""Words of a queue file are those that a shell makes of the line, as far as nothing is expanded."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middlewatch.daemon.queues.words import lines, split

PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r"), max_size=12)
LINE = st.text(st.sampled_from("ab 'é\"\\#=\t中-"), max_size=24)


@given(st.lists(PLAIN, max_size=6))
def test_what_a_shell_quotes_comes_back(words: list[str]) -> None:
    assert [word.text for word in split(shlex.join(words))] == words


@given(st.lists(PLAIN, max_size=6))
def test_what_was_quoted_is_never_taken_for_shell(words: list[str]) -> None:
    assert [word.of_shell for word in split(shlex.join(words)) if word.of_shell] == []


@settings(max_examples=60, deadline=None)
@given(LINE)
def test_a_shell_reads_the_same_words(line: str) -> None:
    sh = shutil.which("dash") or shutil.which("bash") or "sh"
    script = f"set -f\nset -- {line}\nfor word; do printf '%s\\0' \"$word\"; done"
    done = subprocess.run([sh, "-c", script], capture_output=True, timeout=60, check=False)
    try:
        ours = [word.text for word in split(line)]
    except ValueError:
        return  # a quote that is open, or a backslash at the end: the line does not stand alone
    assert done.returncode == 0, done.stderr
    theirs = done.stdout.decode().split("\0")[:-1]
    # `set` takes options that come first; none of ours is one, because of `--`.
    assert ours == theirs


@pytest.mark.parametrize("line", ["a 'b", 'a "b', "a \\", "'"])
def test_an_open_quote_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match="ends"):
        split(line)


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        ("train --lr $LR", "$LR"),
        ("train > out.log", ">"),
        ("train 2>&1", "2>&1"),
        ("a && b", "&&"),
        ("a | b", "|"),
        ("cat *.txt", "*.txt"),
        ("ls ~/data", "~/data"),
        ("echo `date`", "`date`"),
    ],
)
def test_what_only_a_shell_understands_is_told(line: str, sign: str) -> None:
    assert [word.text for word in split(line) if word.of_shell] == [sign]


@pytest.mark.parametrize("word", ["a=~/b", "x~", "cost$", "[1,2]", "{a: 1}", "what?", "#1'#'"])
def test_what_a_shell_leaves_as_it_is_may_stand_there(word: str) -> None:
    assert not any(one.of_shell for one in split(word))


def test_a_comment_begins_with_a_word() -> None:
    assert [w.text for w in split("a#b '#c' # d")] == ["a#b", "#c"]


def test_lines_are_joined_and_keep_their_numbers() -> None:
    text = "\ufeff# one \\\r\na: x \\\r\n  y\r\nb: z\\\\\nc"
    assert lines(text) == [(1, "# one \\"), (2, "a: x   y"), (4, "b: z\\\\"), (5, "c")]
