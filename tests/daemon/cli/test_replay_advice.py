"""The rows of a report about the reason of an end, and what to do first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from middlewatch.daemon.cli import main

SAVES = "".join(
    f"epoch {n}/50 loss 0.{90 - n} lr 0.001\nEpoch {n}: saving model to saves/stand_{n:03d}.keras\n"
    for n in range(1, 7)
)
FULL = """\
Traceback (most recent call last):
  File "/w/train.py", line 37, in <module>
    h = m.fit(x)
  File "/opt/lib/python3.11/site-packages/keras/src/saving/saving_lib.py", line 144, in save_model
    with open(filepath, "wb") as f:
OSError: [Errno 28] No space left on device
"""
LIBRARY = """\
Traceback (most recent call last):
  File "/w/models.py", line 19, in load_model
    import xgboost
xgboost.core.XGBoostError:
XGBoost Library (libxgboost.dylib) could not be loaded.
Likely causes:
  * OpenMP runtime is not installed

Error message(s): ["dlopen(/w/libxgboost.dylib, 0x0006): Library not loaded: @rpath/libomp.dylib"]
"""
RETRIES = "[LightGBM] [Info] Trying to bind port 12400...\n" + "".join(
    f"[LightGBM] [Warning] Connecting to rank 1 failed, waiting for {200 + n} milliseconds\n"
    for n in range(9)
)


def report(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> str:
    log = tmp_path / "train.log"
    log.write_text(text)
    main(["replay", str(log)])
    return re.sub(r"\s+", " ", capsys.readouterr().out)


def test_a_save_that_was_only_announced_is_not_where_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = report(tmp_path, capsys, SAVES + FULL)
    assert "keep fewer of them from now on, after 6 saves" in said
    assert "`df -h saves; df -i saves" in said
    assert "resume saves/stand_005.keras" in said


def test_what_stands_below_the_first_line_of_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = report(tmp_path, capsys, LIBRARY)
    assert "because Error message(s)" in said
    assert "install the library libomp.dylib" in said


def test_a_log_that_only_tries_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "its last 9 lines say the same" in report(tmp_path, capsys, RETRIES)


def test_the_usual_first_step_is_told_with_the_second(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = report(
        tmp_path,
        capsys,
        "step 1 loss 2\nRuntimeError: unable to allocate shared memory(shm) for file </torch_1>: No space left on device (28)\n",
    )
    assert "do first Compare the size of /dev/shm" in said
    assert "then Restart the container with --shm-size" in said


CHAIN = """\
step 1 loss 2.0
Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/torch_geometric/nn/conv/message_passing.py", line 267, in _index_select
    return src.index_select(0, index)
IndexError: index out of range in self

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/w/gnn.py", line 31, in <module>
    out = model(x, edge_index)
  File "/opt/lib/python3.11/site-packages/torch_geometric/nn/conv/message_passing.py", line 282, in _index_select_safe
    raise IndexError(
IndexError: Found indices in 'edge_index' that are larger than 2399 (got 2599).
"""
CANCELLED = """\
gpu041:183:183 [0] init.cc:943 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000
[rank0]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2251, invalid usage, NCCL version 2.21.5
srun: error: gpu041: tasks 0-1: Exited with exit code 1
srun: Terminating StepId=4417309.0
slurmstepd: error: *** STEP 4417309.0 ON gpu041 CANCELLED AT 2026-03-11T09:52:37 ***
"""
TORN = """\
step 25 loss 1.0
saved checkpoint to out/checkpoint-25/model.pt
step 50 loss 0.9
saved checkpoint to out/checkpoint-50/model.pt
step 60 loss 0.9
resuming from out/checkpoint-50
RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory
"""


def test_what_a_library_says_at_last_says_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = report(tmp_path, capsys, CHAIN)
    assert "FAILED IndexError: Found indices in 'edge_index'" in said
    assert "edges name node 2599, but there are rows for 0 to 2399 only" in said


def test_a_step_that_srun_takes_down_after_its_tasks_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = report(tmp_path, capsys, CANCELLED)
    assert "cause nccl_error" in said
    assert "SLURM_LOCALID" in said


def test_the_save_that_could_not_be_read_is_not_where_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = report(tmp_path, capsys, TORN)
    assert "resume out/checkpoint-25/model.pt" in said


def test_data_that_ran_out_in_a_run_that_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    epochs = [f"Epoch {n}/3\n37/37 - 1s - loss: 0.{9 - n}" for n in (1, 2, 3)]
    warned = "trainer.py:164: UserWarning: Your input ran out of data; interrupting training."
    assert "ran out of data" in report(
        tmp_path, capsys, "\n".join([epochs[0], warned, *epochs[1:], ""])
    )


def test_what_grew_until_a_kill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grows = "".join(f"epoch {n} loss 0.{90 - n} rss {1 + 0.5 * n:.2f} GB\n" for n in range(8))
    said = report(tmp_path, capsys, f"{grows}run.sh: line 3: 19635 Killed    python t.py\n")
    assert "before it rss rose from 1.00 GB to 4.50 GB" in said
    assert "do first stop the growth" in said


def test_a_step_asks_for_no_save_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = "".join(f"step {n} loss {2.0 - n / 100:.3f}\n" for n in range(1, 30))
    bad = "".join(f"step {n} loss nan\n" for n in range(30, 40))
    saved = "saved checkpoint ck/step-20.pt\n"
    for text, save in ((steps + bad, False), (steps + saved + bad, True)):
        said = " ".join(report(tmp_path, capsys, text).split())
        assert ("no save lies before it" in said) is not save
        assert ("from the newest save" in said) is save


def test_lines_that_a_first_step_names_are_those_of_the_proof(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of an error that came again and again: the first one is the proof."""
    trial = 'Traceback (most recent call last):\n  File "/w/tune.py", line 9, in objective\n    return fit(x)\nValueError: bad value\n'
    text = "".join(
        f"[W 2026-11-28 07:33:{n:02},739] Trial {n} failed with parameters: {{'depth': {n}}} because of the following error: "
        f"ValueError('bad value').\n{trial}[W 2026-11-28 07:33:{n:02},745] Trial {n} failed with value None.\n"
        for n in range(12)
    )
    text += trial.replace("9, in objective", "13, in <module>").replace("bad value", "none done")
    shown = report(tmp_path, capsys, text)
    place = int(re.search(r"cause python_exception, line (\d+)", shown)[1])  # type: ignore[index]
    (told,) = re.findall(r"the way there: `sed -n '(\d+),(\d+)p' LOG`", shown)
    assert int(told[0]) < place < int(told[1])
