"""``middlewatch replay`` as a person and a script meet it."""

from __future__ import annotations

import bz2
import contextlib
import fcntl
import gzip
import io
import json
import lzma
import math
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middlewatch.daemon.cli import console, main
from middlewatch.daemon.text.curve import AxisMark, curve
from middlewatch.daemon.text.rows import plain, width_of

from ...fakes import pseudo_terminal

MIDDLEWATCH = str(Path(sys.executable).with_name("middlewatch"))


def course(last: int = 2400, total: int = 5000) -> str:
    """A run with evaluations and saves."""
    dice = random.Random(4)
    lines = ["tokens per iteration will be: 491,520"]
    for n in range(0, last, 4):
        loss = 2.2 + 9 * math.exp(-n / 150) + dice.gauss(0, 0.05)
        lines.append(f"step {n}/{total} | train_loss {loss:.4f} | lr 3.0e-04")
        if n and n % 200 == 0:
            lines.append(f"step {n}: eval_loss {2.4 + 8 * math.exp(-n / 150):.4f}")
            lines.append(f"saving checkpoint to /data/训练输出/run7/ckpt_{n}.pt")
    return "\n".join(lines) + "\n"


OOM = """\
Traceback (most recent call last):
  File "/srv/train.py", line 212, in <module>
    loss.backward()
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.40 GiB (GPU 3; 79.35 GiB total)
"""
END = "step 2400/2400 | train_loss 2.2 | lr 0.0e+00\nTraining completed.\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("MIDDLEWATCH_CONFIG", str(tmp_path / "none.toml"))


def put(name: str, data: str | bytes) -> str:
    Path(name).write_bytes(data.encode() if isinstance(data, str) else data)
    return name


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main(["replay", *words])
    out, err = capsys.readouterr()
    return status, out, err


def strict(text: str) -> list[dict[str, Any]]:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    text.encode("utf-8")  # a lone surrogate would not pass
    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


# ------------------------------------------------------------------------ what can be read


def test_one_log_in_every_packing_and_encoding_is_one_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = course() + OOM
    raw = text.encode()
    files = {
        "plain.log": raw,
        "a.gz": gzip.compress(raw),
        "no_suffix": lzma.compress(raw),
        "a.bz2": bz2.compress(raw),
        "windows.log": b"\xff\xfe" + text.encode("utf-16-le"),
        "china.log": text.encode("gb18030"),
    }
    status, out, _ = said(capsys, "--json", *(put(n, d) for n, d in files.items()))
    assert status == 1
    by_file: dict[str, list[dict[str, Any]]] = {}
    for record in strict(out):
        by_file.setdefault(record.pop("file"), []).append(record)
    first = by_file["plain.log"]
    for name, records in by_file.items():
        records[-1].pop("packing", None)
        records[-1]["bytes"] = first[-1]["bytes"]
        assert records == first, name


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bytes])
def test_standard_input_is_known_by_its_bytes(
    pack: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(pack((course() + OOM).encode())))
    monkeypatch.setattr("sys.stdin", stdin)
    status, out, _ = said(capsys, "-", "--json")
    assert (status, strict(out)[-1]["cause"], strict(out)[-1]["file"]) == (1, "cuda_oom", "-")


def test_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = put("good.log", course() + END), put("bad.log", course() + OOM)
    packed = gzip.compress((course() + OOM).encode())
    cut = put("cut.gz", packed[: len(packed) // 2])
    for words, status in (
        ([good], 0),
        ([good, bad], 1),
        ([good, "none.log", bad], 2),
        ([bad, cut], 2),
        ([], 2),
        ([bad, "."], 2),
    ):
        assert said(capsys, *words, "--json")[0] == status, words


def test_what_cannot_be_read_is_told_and_the_others_are_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    packed = gzip.compress((course() + OOM).encode())
    cut = put("cut.gz", packed[: len(packed) // 2])
    names = ["none.log", put("good.log", course() + END), ".", cut]
    _, out, err = said(capsys, "--json", *names)
    ends = [r for r in strict(out) if r["type"] == "end"]
    assert [r["file"] for r in ends] == ["good.log", "cut.gz"]
    assert ends[1]["lines"] > 50
    assert "too early" in ends[1]["damage"]
    assert [line for line in err.splitlines() if line.startswith("middlewatch: ")] == [
        "middlewatch: none.log cannot be read: No such file or directory",
        "middlewatch: . cannot be read: it is a folder",
        "middlewatch: cut.gz: the gzip data end too early: the file was cut, or is still written",
    ]


def test_nothing_unpacked_is_no_report(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = said(capsys, put("bad.xz", b"\xfd7zXZ\x00" + b"garbage" * 9))
    assert (status, out) == (2, "")
    assert "damaged" in err


def test_numbers_and_names_that_json_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"odd\xff.log")
    put(name, b"step 1 | train_loss nan | lr inf\n" * 4 + b"RuntimeError: \xff\xed\xa0\x80 lost\n")
    _, out, _ = said(capsys, "--json", "--metrics", name)
    assert strict(out)[0]["values"]["train_loss"] == "nan"


# ------------------------------------------------------------------------ the report


def test_the_report_of_a_log_that_failed(capsys: pytest.CaptureFixture[str]) -> None:
    name = put("train.log", course() + OOM)
    status, out, _ = said(capsys, name)
    assert status == 1
    lines = out.splitlines()
    assert re.match(r"train\.log  627 lines · [\d.]+ KiB · nanoGPT$", lines[0])
    assert lines[1] == "steps 0 → 2,396 of 5,000 (48%)"
    assert lines[2].startswith("✗ FAILED  out of GPU memory")
    assert "cause     cuda_oom, line 627" in lines
    assert any(line.startswith("          │ torch.cuda.OutOfMemoryError") for line in lines)
    assert any(line.startswith("do first  ") for line in lines)
    assert "          more: middlewatch explain cuda_oom" in lines
    assert "resume    /data/训练输出/run7/ckpt_2200.pt: step 2,200, saved before" in out
    assert "as the log claims" in out
    assert "middlewatch verify " in out
    assert "· checkpoint 11 of 11 saved, step 2200" in out
    assert "627 ✗ cuda_oom: " in out
    assert "● eval_loss 2.4" in out
    assert "\x1b" not in out
    assert max(map(_cells, lines)) <= 80


def _cells(line: str) -> int:
    from rich.cells import cell_len

    return cell_len(line)


def test_the_checkpoint_to_go_on_from_is_older_than_the_trouble(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nan = "".join(f"step {n}/5000 | train_loss nan | lr 3e-4\n" for n in range(2400, 2600, 4))
    late = "saving checkpoint to /data/run7/ckpt_2600.pt\n"
    _, out, _ = said(capsys, put("nan.log", course() + nan + late))
    assert "loss_nan" in out
    assert re.search(r"^resume +/data/训练输出/run7/ckpt_2200\.pt", out, re.MULTILINE)
    assert "×" in out


def test_finished_and_cut(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = said(capsys, put("a.log", course(total=2400) + END))
    assert "✓ FINISHED  the run reached its end at step 2,400" in out
    assert "do first" not in out
    _, out, _ = said(capsys, put("b.log", course()))
    assert "? CUT  the log just stops at step 2,396; nothing in it says why" in out
    _, out, _ = said(capsys, put("empty.log", ""))
    assert "? CUT  the log has no training report" in out


def test_several_logs_end_in_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    names = [put("failed.log", course() + OOM), put("训练.log", course(total=2400) + END)]
    status, out, _ = said(capsys, *names)
    assert status == 1
    head, one, two = out.strip().splitlines()[-3:]
    assert head.split() == ["FILE", "VERDICT", "CAUSE", "STEP", "LINES"]
    assert one.split() == ["failed.log", "failed", "cuda_oom", "2,396", "627"]
    assert two.split()[:2] == ["训练.log", "finished"]
    assert _cells(one) == _cells(two) == _cells(head)


def test_restarts_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    again = "Resuming training from checkpoint\n" + "".join(
        f"step {n}/5000 | train_loss 2.1 | lr 3e-4\n" for n in range(2200, 2600, 4)
    )
    _, out, _ = said(capsys, put("a.log", course() + again))
    assert "↺ the steps go back from 2396 to 2200" in out
    assert "↺ restart" in out


def test_epochs_that_count_their_batches_anew_are_no_restarts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "".join(
        f"Epoch: [{e}][{n}/100] loss {3 - e / 4 - n / 500:.4f}\n"
        for e in range(4)
        for n in range(0, 100, 10)
    )
    _, out, _ = said(capsys, put("a.log", text))
    assert "↺" not in out
    assert "epoch 3" in out


def test_a_locale_without_utf_8_gets_ascii() -> None:
    name = put("a.log", course() + OOM)
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = subprocess.run([MIDDLEWATCH, "replay", name], env=env, capture_output=True, check=False)
    assert done.returncode == 1
    text = done.stdout.decode("ascii")
    assert "x FAILED" in text
    assert re.search(r"^   [\d.]+ \+[ ':.o]+$", text, re.MULTILINE)


@settings(max_examples=40)
@given(
    st.lists(
        st.binary(max_size=300)
        | st.sampled_from(
            [
                course(40),
                OOM,
                END,
                "step 1e999/9 loss: 5 lr nan\n",
                "step 5 loss 1e308\nstep 6 loss -1e308\nstep 7 loss 0\n",
                "saving checkpoint to /x/\x1b[31m/y.pt\n",
                "\r" * 9,
            ]
        ).map(str.encode),
        max_size=6,
    ),
    st.integers(20, 200),
)
def test_any_bytes_make_a_report_and_strict_json(pieces: list[bytes], columns: int) -> None:
    data = b"".join(pieces)
    put("any.log", data)
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setenv("COLUMNS", str(columns))
        assert main(["replay", "any.log"]) in (0, 1, 2)
        assert main(["replay", "any.log", "--run"]) in (0, 1, 2)
    out.flush()
    text = out.buffer.getvalue().decode()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(out):
        status = main(["replay", "--json", "--metrics", "any.log"])
    out.flush()
    records = strict(out.buffer.getvalue().decode())
    assert status == 2 or records[-1]["type"] == "end"


# ------------------------------------------------------------------------ the curve


POINTS = [(float(n), 10 / (n + 1)) for n in range(200)]


def test_the_curve_fits_and_has_all_it_should() -> None:
    marks = [
        AxisMark(199.0, "✗", "bad"),
        AxisMark(-5.0, "!", "warn"),
        AxisMark(math.inf, "!", "bad"),
    ]
    rows = curve(POINTS, [(100.0, 0.5)], marks, ("step 0", "step 199"), 80, 8)
    text = plain(rows)
    assert [width_of(row) for row in rows] == [80] * 10
    assert text.count("●") == 1
    assert rows[8][-1].text == "✗"
    assert [line.split()[0] for line in text.splitlines() if "┤" in line] == ["10", "0.995", "0.05"]
    assert text.splitlines()[-1].split() == ["step", "0", "step", "199"]


@pytest.mark.parametrize("points", [[], POINTS[:2], [(1.0, math.nan)] * 9])
def test_too_few_numbers_make_no_curve(points: Sequence[tuple[float, float]]) -> None:
    assert curve(points, [], [], ("", ""), 80, 8) == []


@settings(max_examples=80)
@given(
    st.lists(st.tuples(st.floats(), st.floats()), max_size=30),
    st.lists(st.tuples(st.floats(), st.floats()), max_size=5),
    st.integers(10, 120),
    st.integers(2, 9),
)
def test_any_numbers_make_rows_of_the_right_width(
    train: list[tuple[float, float]],
    evaluated: list[tuple[float, float]],
    width: int,
    height: int,
) -> None:
    train.sort(key=lambda p: (math.isnan(p[0]), p[0]))
    rows = curve(train, evaluated, [AxisMark(1.0, "!", "warn")], ("a", "b"), width, height)
    assert rows == [] or [width_of(row) for row in rows] == [width] * (height + 2)


# ------------------------------------------------------------------------ on a terminal


def on_terminal(words: Sequence[str], **more: Any) -> tuple[int, str]:
    return pseudo_terminal.on_terminal([MIDDLEWATCH, *words], **more)


def test_colours_on_a_terminal_that_wants_them() -> None:
    name = put("a.log", course() + OOM)
    status, text = on_terminal(["replay", name])
    assert status == 1
    assert "\x1b[31;1m✗ FAILED" in text
    bare = re.sub(r"\x1b\[[\d;]*m", "", text)
    assert max(map(_cells, bare.splitlines())) <= 80
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in on_terminal(["replay", name], env=env)[1]


class Slow:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


def test_the_bar_shows_after_two_seconds_and_leaves_no_trace(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Slow()
    shown = console.ProgressBar(100 << 20, clock, shown=True)
    clock.at = 1.9
    shown.at(40 << 20, "train.log.gz")
    assert capsys.readouterr().err == ""
    clock.at = 4.0
    shown.at(50 << 20, "train.log.gz")
    line = capsys.readouterr().err
    assert line.startswith("\rtrain.log.gz ━")
    assert "  50 %  12.5 MiB/s  0:04 left" in line
    shown.at(51 << 20, "train.log.gz")
    assert capsys.readouterr().err == ""  # not so soon
    shown.clear()
    shown.clear()
    assert capsys.readouterr().err == "\r\x1b[K"
    quiet = console.ProgressBar(100, clock, shown=False)
    clock.at = 99.0
    quiet.at(50, "x")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("width", [20, 40, 79, 200])
@pytest.mark.parametrize("total", [0, 10 << 30])
@pytest.mark.parametrize("name", ["-", "a/very/long/path/to/some/训练/train.log.zst", "a"])
def test_the_bar_fits(width: int, total: int, name: str) -> None:
    for taken in (0, 1, 5 << 30, 11 << 30):
        assert _cells(console.progress_line(taken, total, 7.0, name, width, utf8=True)) <= width
        assert console.progress_line(taken, total, 7.0, name, width, utf8=False).isascii()


def test_a_slow_reading_shows_a_bar_on_the_terminal_and_erases_it() -> None:
    read, write = os.pipe()
    page = fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    text = (course() + OOM).encode()
    assert len(text) > 6 * page

    def trickle() -> None:
        # The pipe holds one piece: however late it is read, four more come after that, slowly.
        with contextlib.suppress(BrokenPipeError), os.fdopen(write, "wb", 0) as pipe:
            for at in range(0, 6 * page, page):
                pipe.write(text[at : at + page])
                time.sleep(0.8)
            pipe.write(text[6 * page :])

    pid = os.fork()
    if not pid:  # the writer; a thread would share the reader's end of the pipe
        os.close(read)
        trickle()
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        status, shown = on_terminal(["replay", "-"], stdin=pipe)
    os.waitpid(pid, 0)
    assert status == 1
    assert "\rstandard input  " in shown
    assert re.search(r"MiB/s|KiB/s|B/s", shown)
    after = shown[shown.rindex("\r\x1b[K") :]
    assert "FAILED" in after


def test_records_on_the_same_terminal_have_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", _Terminal())
    monkeypatch.setattr("sys.stdout", _Terminal())
    assert console.progress_wanted(as_json=False)
    assert not console.progress_wanted(as_json=True)
    monkeypatch.setenv("TERM", "dumb")
    assert not console.progress_wanted(as_json=False)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


# ------------------------------------------------------------------------ broken off


def test_a_reader_that_has_had_enough_hears_no_complaint() -> None:
    put("a.log", course(40_000, 50_000))
    command = f"{MIDDLEWATCH} replay a.log --json --metrics | head -n 2; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


@pytest.mark.parametrize("words", [["-", "--json", "--metrics"], ["-", "--run", "gpt", "--json"]])
def test_an_interrupt_tells_what_was_found_so_far(words: list[str]) -> None:
    process = subprocess.Popen(
        [MIDDLEWATCH, "replay", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write((course(400) + OOM).encode())
    if "--metrics" in words:
        assert process.stdout.readline()  # it has read what there is, and waits for more
    else:
        _until_it_waits(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    records = strict(out.decode())
    assert records[-1]["interrupted"] is True
    assert (records[-1]["verdict"], records[-1]["cause"]) == ("failed", "cuda_oom")
    assert err == b""


def _until_it_waits(pid: int) -> None:
    """Until the process sleeps in a read of its standard input."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        calls = Path(f"/proc/{pid}/io").read_text(encoding="ascii")
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        read = int(re.findall(r"rchar: (\d+)", calls)[0])
        if state == "S" and read == _until_it_waits.read:  # type: ignore[attr-defined]
            return
        _until_it_waits.read = read  # type: ignore[attr-defined]
        time.sleep(0.3)
    pytest.fail("it does not come to rest")


_until_it_waits.read = -1  # type: ignore[attr-defined]
