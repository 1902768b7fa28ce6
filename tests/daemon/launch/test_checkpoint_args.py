from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.launch.checkpoint_args import from_argv


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("train.py --output_dir runs/a", ["/w/runs/a"]),
        ("train.py --output-dir=runs/a", ["/w/runs/a"]),
        ("train.py --out_dir=/data/out --device=cpu", ["/data/out"]),
        ("train.py config/x.py out_dir=out-shakespeare", ["/w/out-shakespeare"]),
        ("pretrain_gpt.py --save ckpts/gpt --load old --save-interval 100", ["/w/ckpts/gpt"]),
        ("train.py +trainer.default_root_dir=x trainer.max_steps=3", ["/w/x"]),
        ("train.py checkpoint.save_folder='a b'", ["/w/a b"]),
        ("train.py --save-dir ../up --ckpt_dir /c", ["/up", "/c"]),
        ("train.py --save_path out/model.pt", ["/w/out"]),
        ("train.py --save --lr 3", []),
        ("train.py --save true", []),
        ("train.py --save 500", []),
        ("train.py --output_dir s3://bucket/x", []),
        ("train.py output_dir=${hydra:run.dir}", []),
        ("train.py --checkpoint org/model-7b", []),
        ("train.py --save_steps 500 --save_strategy steps", []),
        ("train.py --output_dir", []),
    ],
)
def test_directories_by_the_command_line(line: str, expected: list[str]) -> None:
    argv = ["python", *(word.replace("~", " ") for word in line.replace("a b", "a~b").split())]
    assert list(from_argv(argv, "/w")) == expected


def test_an_ambiguous_option_counts_when_the_directory_exists(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    argv = ["python", "train.py", "--ckpt", "here", "--checkpoint=not-here"]
    assert list(from_argv(argv, str(tmp_path))) == [str(tmp_path / "here")]


@given(st.lists(st.text(), max_size=6), st.text())
def test_any_command_line_gives_absolute_paths(argv: list[str], cwd: str) -> None:
    assert all(os.path.isabs(path) for path in from_argv(argv, "/" + cwd.strip("\0")))
