"""Frames of tracebacks, and whose file they are in."""

from __future__ import annotations

import pytest

from middlewatch.daemon.parsers.frames import frame_of


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ('  File "train.py", line 137, in train', "train.py:137 in train"),
        (r'  File "C:\w\train.py", line 9, in <module>', r"C:\w\train.py:9 in <module>"),
        (
            "File ~/utils/graph_utils.py:124, in show_results(dict)",
            "~/utils/graph_utils.py:124 in show_results",
        ),
        ("Cell In[7], line 3, in step(x)", "Cell In[7]:3 in step"),
        ("│ /root/run/fit.py:12 in main                  │", "/root/run/fit.py:12 in main"),
    ],
)
def test_a_frame_is_read_as_python_ipython_and_rich_write_it(line: str, frame: str) -> None:
    assert str(frame_of(line)) == frame


@pytest.mark.parametrize(
    "file",
    [
        "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py",
        "/usr/lib/python3.10/threading.py",
        r"C:\Users\li\envs\a\lib\site-packages\keras\engine.py",
        r"C:\Python39\Lib\queue.py",
        "<frozen importlib._bootstrap>",
        "/opt/venv/bin/accelerate",
    ],
)
def test_files_of_packages_and_of_python_are_not_the_program_s_own(file: str) -> None:
    frame = frame_of(f'  File "{file}", line 3, in f')
    assert frame is not None
    assert not frame.own


@pytest.mark.parametrize(
    "file", ["train.py", "/workspace/Megatron-LM/megatron/training.py", "<ipython-input-3-1>"]
)
def test_others_are(file: str) -> None:
    frame = frame_of(f'  File "{file}", line 3, in f')
    assert frame is not None
    assert frame.own


@pytest.mark.parametrize("line", ["", "step 12 loss 3.1", 'File "a.py"', "File a:3", "│ a.py │"])
def test_other_lines_are_no_frames(line: str) -> None:
    assert frame_of(line) is None
