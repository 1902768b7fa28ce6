"""The id of a run is the name of a folder: whatever the run is called, it stays in its place."""

from __future__ import annotations

import os

import pytest

from middlewatch.daemon.config.run_spec import run_id

from ...fakes.injections import injections

ODD = ("..", ".", "../x", "/etc/passwd", "-rf", "", " ", "\0", "a/../b", ".hidden", "训练任务")


@pytest.mark.parametrize("name", [*ODD, *(one.text for one in injections())])
def test_no_name_leaves_the_folder_of_the_runs(name: str) -> None:
    made = run_id(name)
    assert made.isprintable()
    assert os.path.normpath(f"/runs/{made}") == f"/runs/{made}"
    assert made[0] not in ".-"
    assert not set(made) & set("/\\ $`'\"<>|;&*?~")
    assert len(os.fsencode(made)) <= 255
