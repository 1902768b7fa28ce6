"""The real notifier child, asked by hand."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from middlewatch.daemon.report.notifier import NOTIFIER_ARGV
from middlewatch.daemon.report.routes import targets


def jobs_of(urls: Iterable[str], **words: str) -> list[dict[str, Any]]:
    """A push to each of these URLs."""
    told = {"title": "t", "body": "b", "kind": "info", **words}
    return [told | {"id": t.mark, "url": t.url, "label": t.label} for t in targets(urls)]


def all_at_once(
    jobs: Iterable[dict[str, Any]], argv: Sequence[str] = NOTIFIER_ARGV
) -> list[dict[str, Any]]:
    """The answers, in the order in which they came."""
    jobs = list(jobs)
    done = subprocess.run(
        argv,
        input=json.dumps({"jobs": jobs}) + "\n",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    taken, *answers = (json.loads(line) for line in done.stdout.splitlines())
    assert taken == {"taken": len(jobs)}
    return answers


def one_by_one(jobs: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The answers, each job begun when the one before was answered."""
    with subprocess.Popen(
        NOTIFIER_ARGV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for job in jobs:
            child.stdin.write(json.dumps({"jobs": [job]}) + "\n")
            child.stdin.flush()
            assert json.loads(child.stdout.readline()) == {"taken": 1}
            yield json.loads(child.stdout.readline())
        child.stdin.close()
