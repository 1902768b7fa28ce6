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
    assert "keep fewer of them from now on: it was the 6th" in said
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
