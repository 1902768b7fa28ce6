"""A manifest comes from a machine of somebody else: what it may not say."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from middlewatch.daemon.remote.manifest import SCHEMA, BadManifest, chosen, parse


def manifest() -> dict[str, Any]:
    file = {"place": 0, "name": "step-100.pt", "bytes": 1, "mtime_ns": 1, "digest": None}
    save = {"place": 0, "name": "step-100.pt", "path": "/w/out/step-100.pt", "state": "ok"}
    save |= {"level": "finite", "digest": "xxh3:1", "bytes": 1, "members": ["step-100.pt"]}
    run = {"run": "gpt-5db0", "name": "gpt", "state": "finished", "alive": False}
    run |= {"places": [{"name": "checkpoints/out", "root": "/w/out"}]}
    run |= {"files": [file], "checkpoints": [save]}
    box = {"id": "0123456789abcdef", "host": "gpu-7"}
    return {"schema": SCHEMA, "box": box, "made_at": "2026-11-26T08:00:00+00:00", "runs": [run]}


def test_a_sound_one_is_taken() -> None:
    found = parse(json.dumps(manifest()))
    assert [one.run for one in chosen(found, "gpt")] == ["gpt-5db0"]
    assert found.runs[0].at_home(found.runs[0].files[0]) == "checkpoints/out/step-100.pt"
    with pytest.raises(BadManifest, match="nothing to bring home"):
        chosen(found, "bert")


def file(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda run: run["files"][0].update(changed)


def place(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda run: run["places"][0].update(changed)


def whole(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda run: run.update(changed)


@pytest.mark.parametrize(
    "change",
    [
        file(name="../../.ssh/authorized_keys"),
        file(name="/etc/passwd"),
        file(name="a/./b"),
        file(name="a//b"),
        file(name=""),
        file(name="two\nlines"),
        file(name="\x1b[2Jx"),
        file(name="x" * 300),
        file(name="\udcff"),
        file(place=1),
        file(place=-1),
        file(bytes=-1),
        place(name="../elsewhere"),
        place(root="relative"),
        whole(run="../gpt"),
        whole(run="a/b"),
        lambda run: run["files"].append(run["files"][0]),
        lambda run: run["checkpoints"][0].update(members=["step-200.pt"]),
        lambda run: run["checkpoints"][0].update(members=[]),
        lambda run: run.update(pages={"../x": "text"}),
        lambda run: run.pop("files"),
        lambda run: run.update(files="all"),
    ],
)
def test_what_leads_elsewhere_or_is_not_whole_is_refused(
    change: Callable[[dict[str, Any]], Any],
) -> None:
    told = manifest()
    change(told["runs"][0])
    with pytest.raises(BadManifest):
        parse(json.dumps(told))


@pytest.mark.parametrize("text", ["", "[]", "{", "middlewatch: no", '{"schema": "other/v9"}'])
def test_what_is_no_manifest_is_refused(text: str) -> None:
    with pytest.raises(BadManifest):
        parse(text)
