"""The files that go along with a job."""

from __future__ import annotations

from pathlib import Path

import pytest

from middlewatch.daemon.jobs.job import Job, Kaggle, Main
from middlewatch.daemon.launch.carried import carried
from middlewatch.daemon.system.errors import UsageError


def job(folder: Path, *command: str, files: tuple[str, ...] = (), workdir: str = ".") -> Job:
    main = Main(command=command, workdir=workdir)
    return Job(main, kaggle=Kaggle(files=files), folder=str(folder))


def test_what_the_command_names_goes_along(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("print('训练')\r\n", newline="")
    (tmp_path / "src" / "base.yaml").write_text("lr: 1\n")
    (tmp_path / "src" / "more.py").write_text("")
    (tmp_path / "outside.txt").write_text("no")
    words = (
        "python",
        "train.py",
        "--config=base.yaml",
        "../outside.txt",
        "/etc/hostname",
        "-c",
        "",
    )
    found = carried(job(tmp_path, *words, files=("more.py",), workdir="src"))
    assert found == {"train.py": "print('训练')\r\n", "base.yaml": "lr: 1\n", "more.py": ""}


def test_what_cannot_go_along_is_said(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "large.txt").write_text("a" * (1 << 20) + "b")
    for name, said in (
        ("none.py", "cannot read"),
        ("data.bin", "not a text in UTF-8"),
        ("large.txt", "more than 1 MiB"),
        ("../../etc/hostname", "does not lie below"),
    ):
        with pytest.raises(UsageError, match=said):
            carried(job(tmp_path, "python", files=(name,)))
