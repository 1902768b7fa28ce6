from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middlewatch.daemon.cli import main
from middlewatch.daemon.replay.one_log import Replay, ReplayRules
from middlewatch.daemon.system import jsonlines
from middlewatch.sentinels.kit import discover

SENTINELS = discover()

STEPS = "".join(
    f"step {n}/200 | train_loss {3 - n / 100:.4f} | lr 3.0e-04\n" for n in range(0, 200, 10)
)
OOM = """\
Traceback (most recent call last):
  File "/work dir/train.py", line 212, in <module>
    loss.backward()
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.40 GiB (GPU 3; 79.35 GiB \
total capacity; 70.10 GiB already allocated; 1.10 GiB free; 71.00 GiB reserved in total by PyTorch)
""".replace("/work dir", "/srv")
END = "step 200/200 | train_loss 1.0000 | lr 0.0e+00\nTraining completed.\n"


def records(*chunks: bytes | str, metrics: bool = True) -> list[dict[str, Any]]:
    """What the replay says, through strict JSON and back."""
    raw = [c.encode() if isinstance(c, str) else c for c in chunks]
    bugs: list[str] = []
    reading = Replay("a.log", ReplayRules(SENTINELS, {}, bugs.append))
    said = [json.loads(jsonlines.dumps(r)) for r in reading.read(raw, metrics=metrics)]
    assert not bugs
    return said


def findings(said: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [r for r in said if r["type"] == "finding"]


def verdict(*chunks: str) -> tuple[str, str | None]:
    end = records(*chunks)[-1]
    assert end["type"] == "end"
    return end["verdict"], end["cause"]


# ------------------------------------------------------------------------ shapes


def test_a_finding_has_the_shape_of_the_contract() -> None:
    (one,) = findings(records(STEPS, OOM))
    assert set(one) == {
        "type", "file", "line", "decided_line", "class", "severity", "fatal", "sentinel",
        "summary", "evidence", "at", "details",
    }  # fmt: skip
    assert (one["file"], one["class"], one["sentinel"]) == ("a.log", "cuda_oom", "cuda_oom")
    assert (one["severity"], one["fatal"], one["at"]) == ("critical", True, None)
    assert one["line"] >= STEPS.count("\n") + 1
    assert one["decided_line"] >= one["line"]
    assert "CUDA out of memory" in one["evidence"]
    assert one["details"]["requested_bytes"] == int(2.4 * 2**30)


def test_metrics_and_the_end() -> None:
    said = records(STEPS, END)
    metric = said[0]
    assert metric["type"] == "metric"
    assert (metric["line"], metric["step"], metric["epoch"]) == (1, 0, None)
    assert metric["values"] == {"train_loss": 3.0, "lr": 0.0003}
    end = said[-1]
    assert end == {
        "type": "end",
        "file": "a.log",
        "lines": 22,
        "bytes": len(STEPS) + len(END),
        "framework": None,
        "verdict": "finished",
        "cause": None,
        "last_step": 200,
        "finished_at_line": 21,
    }
    assert [r["type"] for r in records(STEPS, END, metrics=False)] == ["end"]


def test_numbers_that_are_not_finite_are_words() -> None:
    said = records("step 1 | train_loss nan | lr inf | grad_norm -inf\n" * 3)
    values = next(r["values"] for r in said if r["type"] == "metric")
    assert set(map(str, values.values())) == {"nan", "inf", "-inf"}


def test_a_saved_checkpoint_is_told() -> None:
    said = records(STEPS, "saving checkpoint to /data/out/ckpt_100.pt\n")
    saved = [r for r in said if r["type"] == "checkpoint_saved"]
    assert [set(r) for r in saved] == [{"type", "file", "line", "step", "path"}]
    assert saved[0]["path"] == "/data/out/ckpt_100.pt"


def test_secrets_do_not_come_out() -> None:
    said = records("RuntimeError: cannot log in with WANDB_API_KEY=abcdef0123456\n", metrics=False)
    assert "abcdef0123456" not in json.dumps(said)


# ------------------------------------------------------------------------ verdicts


def test_it_ran_to_its_end() -> None:
    assert verdict(STEPS, END) == ("finished", None)


def test_it_failed() -> None:
    assert verdict(STEPS, OOM) == ("failed", "cuda_oom")


def test_it_just_stops() -> None:
    assert verdict("\n".join(STEPS.splitlines()[:-3])) == ("cut", None)
    assert verdict("") == ("cut", None)


def test_the_last_report_before_the_end_of_its_own_count() -> None:
    assert verdict(STEPS) == ("finished", None)


def test_a_closing_line_in_its_own_words() -> None:
    loop = "".join(f"{n:5d}  {3 - n / 100:.4f}\n" for n in range(60))
    assert verdict(loop) == ("cut", None)
    assert verdict(loop, "all rounds done, bye\n") == ("finished", None)
    assert verdict(loop, "all rounds done, bye\n", OOM) == ("failed", "cuda_oom")


def test_an_evaluation_that_is_complete_ends_no_training() -> None:
    evaluated = "".join(f"Inference done {n}/34. {n * 0.031:.4f} s / img.\n" for n in range(1, 35))
    goes_on = "".join(f"iter: {n}  total_loss: {3 - n / 1000:.4f}\n" for n in range(0, 900, 10))
    assert verdict(evaluated, goes_on) == ("cut", None)


def test_trouble_that_was_overcome_fails_nobody() -> None:
    assert verdict(OOM, STEPS, END) == ("finished", None)


def test_teardown_noise_after_the_end_fails_nobody() -> None:
    assert (
        verdict(STEPS, END, "RuntimeError: DataLoader worker (pid 4) exited unexpectedly\n")[0]
        == "finished"
    )


def test_the_loudest_line_is_not_the_root() -> None:
    fallout = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    assert verdict(STEPS, OOM, fallout * 20) == ("failed", "cuda_oom")


def test_one_finding_for_one_trouble_however_often_it_is_said() -> None:
    nan = "".join(f"step {n}/900 | train_loss nan | lr 3.0e-04\n" for n in range(200, 700))
    (one,) = [f for f in findings(records(STEPS, nan)) if f["class"] == "loss_nan"]
    assert one["line"] == 21
    assert len(findings(records(STEPS, OOM * 50))) == 1


# ------------------------------------------------------------------------ any input


@given(
    st.lists(
        st.binary(max_size=200)
        | st.sampled_from([STEPS, OOM, END, "step 1e999 loss: 5 / 9e999\n", "\r" * 50]).map(
            str.encode
        ),
        max_size=6,
    )
)
def test_any_bytes_are_read_to_their_end(chunks: list[bytes]) -> None:
    said = records(*chunks)
    assert [r["type"] for r in said].count("end") == 1
    assert said[-1]["type"] == "end"
    assert said[-1]["bytes"] == sum(map(len, chunks))
    assert said[-1]["verdict"] in ("finished", "failed", "cut")
    for one in findings(said):
        assert len(one["evidence"]) <= 400
        assert 1 <= one["line"] <= one["decided_line"] <= said[-1]["lines"] + 1
    told = [(f["sentinel"], f["class"], f["line"]) for f in findings(said)]
    assert len(told) == len(set(told))


@settings(max_examples=20)
@given(st.lists(st.integers(1, 2000), max_size=8))
def test_how_the_file_is_cut_into_chunks_does_not_matter(cuts: list[int]) -> None:
    data = (STEPS + OOM + STEPS + "step 5 | train_loss nan\n" * 3).encode()
    places = sorted({min(c, len(data)) for c in cuts} | {0, len(data)})
    chunks = [data[a:b] for a, b in zip(places, places[1:], strict=False)]  # noqa: RUF007
    assert records(*chunks) == records(data)


# ------------------------------------------------------------------------ the command


@pytest.fixture
def log(tmp_path: Path) -> Callable[[str, str], str]:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def replay(*words: str) -> int:
    return main(["replay", *words])


def test_ndjson_of_two_files(log: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bad, good = log("bad.log", STEPS + OOM), log("good.log", STEPS + END)
    assert replay(good, "--json") == 0
    capsys.readouterr()
    assert replay("--json", bad, good) == 1
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["type"], r["file"]) for r in said] == [
        ("finding", bad),
        ("end", bad),
        ("end", good),
    ]


def test_words_for_a_person(log: Any, capsys: pytest.CaptureFixture[str]) -> None:
    million = "step 1234567/2000000 | train_loss 1.5\n"
    assert replay(log("bad.log", STEPS + OOM), log("cut.log", million), "--metrics") == 1
    text = capsys.readouterr().out
    assert "✗ FAILED  out of GPU memory" in text
    assert "? CUT  the log just stops at step 1,234,567" in text


def test_empty_and_binary_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 5000)
    assert replay("--json", str(tmp_path / "empty"), str(tmp_path / "binary")) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [r["type"] for r in said] == ["end", "end"]
    assert (said[0]["lines"], said[0]["verdict"], said[0]["last_step"]) == (0, "cut", None)


@pytest.mark.parametrize("name", ["none.log", "."])
def test_what_cannot_be_read_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert replay(str(tmp_path / name)) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((STEPS + OOM).encode())))
    assert replay("-", "--json") == 1
    assert '"file": "-"' in capsys.readouterr().out


def test_a_sentinel_that_is_switched_off_says_nothing(
    tmp_path: Path, log: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[sentinels.cuda_oom]\nenabled = false\n")
    replay("--json", "--config", str(config), log("bad.log", STEPS + OOM))
    assert "cuda_oom" not in [
        json.loads(line).get("sentinel") for line in capsys.readouterr().out.splitlines()
    ]


def test_a_disk_error_while_saving_is_a_failed_save() -> None:
    failed = """\
Traceback (most recent call last):
  File "train.py", line 250, in <module>
    torch.save(net.state_dict(), out)
  File "lib/torch/serialization.py", line 218, in save
    _save(obj, f)
OSError: [Errno 5] Input/output error
"""
    assert verdict(STEPS, failed) == ("failed", "ckpt_write_failed")
