"""One ``middlewatch watch``, and what is started and restarted afterwards."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

TRAINING = """
# Prints a report every 0.1 s until a file NAME.end says with which status to end.
import pathlib, sys, time
here = pathlib.Path(__file__).parent
end = here / f"{pathlib.Path(__file__).stem}.end"
time.sleep(4)  # what importing a framework takes
first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
for step in range(first, 5000):
    print(f"step {step}/5000 loss {0.4 + 2 / (1 + step / 40):.4f} lr 0.001", flush=True)
    if end.exists():
        status = end.read_text()
        end.unlink()
        if status == "crash":
            raise KeyError("label")
        print("step 5000/5000 loss 0.4 lr 0.001", flush=True)
        print("training complete", flush=True)
        sys.exit(int(status))
    time.sleep(0.1)
"""
NIGHT = """
# From the second day on it imports for as long as it is let, and its data cannot be read.
import pathlib, sys, time
if sys.argv[1] != "1":
    while not pathlib.Path(__file__).with_suffix(".fail").exists():
        time.sleep(0.05)
    float("12,5")
sys.argv[1:] = []
"""
LOOP = """
# Whoever goes on from a save dies while it loads.
import sys, time
if sys.argv[2] != "1":
    time.sleep(3)
    raise RuntimeError("the saved state does not fit the model")
"""
SERVER = """
# An inference server: torch in memory, no training.
import http.server, pathlib, sys, threading, time
import torch
model = torch.nn.Linear(4, 4)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(model(torch.zeros(4)).tolist()).encode())
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"serving on {server.server_port}, batch 1 of 1", flush=True)
end = pathlib.Path(__file__).with_suffix(".end")
while not end.exists():
    time.sleep(0.1)
raise RuntimeError("the model was taken away")
"""
EVALUATION = """
# The loss of every batch of a test set, and then a wrong file name.
import pathlib, time
import torch
end = pathlib.Path(__file__).with_suffix(".end")
for batch in range(1, 5000):
    print(f"batch {batch}/5000 loss {float(torch.rand(1)) + 1:.4f}", flush=True)
    if end.exists():
        open("/nonexistent/results.json")
    time.sleep(0.1)
"""


class Bench:
    """Programs in a folder of the box, told by files when to end."""

    def __init__(self, box: Any) -> None:
        self.box = box
        self.folder: Path = box.root / "jobs"
        self.folder.mkdir()

    def program(self, name: str, text: str = TRAINING) -> str:
        path = self.folder / f"{name}.py"
        path.write_text(text)
        return f"{sys.executable} {path}"

    def shell(self, line: str) -> Any:
        return self.box.spawn("/bin/bash", "-c", line, cwd=self.folder)

    def end(self, name: str, how: str = "0") -> None:
        told = self.folder / f"{name}.end"
        told.with_suffix(".part").write_text(how)
        told.with_suffix(".part").rename(told)

    def of(self, name: str) -> list[dict[str, Any]]:
        """The runs that were found of a program of this folder."""
        return [r for r in self.box.ask("runs") if str(self.folder / name) in str(r["command"])]

    def run(self, name: str, attempt: int = 1) -> dict[str, Any]:
        """The run that was found of a program of this folder."""

        def look() -> Any:
            return [r for r in self.of(name) if r["attempt"] == attempt]

        found: dict[str, Any] = self.box.until(look, f"{name} is found")[0]
        return found

    def ended(self, run: dict[str, Any]) -> dict[str, Any]:
        status: dict[str, Any] = self.box.until(
            lambda: (s := self.box.status(run["run"]))["ended_at"] and s, f"{run['run']} ends"
        )
        return status

    def pushes(self, run: dict[str, Any]) -> list[str]:
        return [p.title for p in self.box.receiver.pushes if f" {run['name']} on " in p.title]


def _critical(box: Any, run: dict[str, Any]) -> list[Any]:
    found = box.status(run["run"])["incidents"]
    return [one for one in found if one["severity"] == "critical"]


@pytest.fixture
def bench(box: Any, searching: None) -> Bench:
    return Bench(box)


@pytest.mark.slow
def test_the_jobs_of_a_queue_are_watched_one_after_the_other(box: Any, bench: Bench) -> None:
    jobs = [bench.program(f"train_{name}") for name in ("one", "two", "three")]
    bench.shell(f"({'; '.join(jobs)}; echo all done) > queue.log 2>&1")
    box.until(lambda: (bench.folder / "queue.log").exists())
    box.until(lambda: "step 3" in (bench.folder / "queue.log").read_text())
    box.command("watch", "--json")
    first = bench.run("train_one")
    box.steps(5, run=first["run"])
    os.kill(box.ask("ping")["pid"], 9)  # what was asked for is remembered
    box.command("start")
    bench.end("train_one")
    second = bench.run("train_two")
    ended = bench.ended(first)
    assert ended["state"] == "finished", (ended["state_reason"], ended["now"], box.log())
    box.steps(5, run=second["run"])
    bench.end("train_two", "crash")
    third = bench.run("train_three")
    box.push(lambda p: " train_two on " in p.title and "KeyError" in p.title)
    box.steps(5, run=third["run"])
    assert _critical(box, third) == []
    assert (third["attempt"], third["resumed_from"]) == (1, None)
    bench.end("train_three")
    assert bench.ended(third)["state"] == "finished"
    assert not [t for t in bench.pushes(first) + bench.pushes(third) if "CRITICAL" in t]


@pytest.mark.slow
def test_a_job_that_fails_before_it_has_said_anything_is_told(box: Any, bench: Bench) -> None:
    """By its looks it is no training yet: it is one as the next job of the queue."""
    job = bench.program("train_night", NIGHT + TRAINING)
    bench.shell(f"for day in 1 2; do {job} $day; sleep 2; done > nights.log 2>&1; sleep 600")
    box.until(lambda: (bench.folder / "nights.log").exists())
    box.command("watch", "--json")
    first = bench.run("train_night")
    box.steps(5, run=first["run"])
    bench.end("train_night")
    assert bench.ended(first)["state"] == "finished"
    box.until(lambda: len(bench.of("train_night")) == 2, "the second day is found")
    (bench.folder / "train_night.fail").touch()
    box.push(lambda p: "train_night" in p.title and "could not convert" in p.title + p.body)


@pytest.mark.slow
def test_a_restart_is_an_attempt_of_the_same_run(box: Any, bench: Bench) -> None:
    job = bench.program("train_fit")
    bench.shell(f"n=1; until {job} --resume $n; do n=50; sleep 1; done >> fit.log 2>&1")
    box.until(lambda: (bench.folder / "fit.log").exists())
    box.command("watch", "--json")
    first = bench.run("train_fit")
    box.steps(3, run=first["run"])
    bench.end("train_fit", "crash")
    second = bench.run("train_fit", attempt=2)
    assert second["resumed_from"] == first["run"]
    assert second["name"] == first["name"]
    over = box.push(
        lambda p: p.title.startswith("[RESOLVED] train_fit") or "trains again" in p.body
    )
    assert f"attempt 2 ({second['run']}) trains again" in over.title + over.body
    assert _critical(box, second) == []
    bench.end("train_fit", "crash")
    third = bench.run("train_fit", attempt=3)
    assert third["resumed_from"] == second["run"]
    box.steps(52, run=third["run"])
    bench.end("train_fit")
    assert bench.ended(third)["state"] == "finished"


@pytest.mark.slow
def test_a_loop_of_restarts_that_gain_nothing_rings_three_times(box: Any, bench: Bench) -> None:
    job = bench.program("train_loop", LOOP + TRAINING)
    bench.shell(f"n=1; until {job} --resume $n; do n=50; sleep 1; done >> loop.log 2>&1")
    box.until(lambda: (bench.folder / "loop.log").exists())
    box.command("watch", "--json")
    first = bench.run("train_loop")
    box.steps(3, run=first["run"])
    bench.end("train_loop", "crash")
    seventh = bench.run("train_loop", attempt=7)
    bench.ended(seventh)
    rung = {push.title + push.body for push in box.receiver.pushes if "train_loop" in push.title}
    assert 2 <= len(rung) <= 4, rung
    assert sum("started again and again" in text for text in rung) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), [("app", SERVER), ("evaluate", EVALUATION)])
def test_the_end_of_what_does_not_train_wakes_nobody(
    box: Any, bench: Bench, name: str, text: str
) -> None:
    pytest.importorskip("torch")
    box.command("watch", "--json", check=False)
    bench.shell(f"exec {bench.program(name, text)} > {name}.log 2>&1")
    run = bench.run(name)
    assert run["provisional"]
    assert any("nothing about it is pushed" in note for note in run["notes"])
    bench.end(name)
    ended = bench.ended(run)
    box.until(lambda: box.status(run["run"])["state_reason"].startswith("not a training"))
    assert ended["run"] == run["run"]
    assert bench.pushes(run) == []
    assert [i for i in box.ask("incidents") if i["run"] == run["run"]] == []


def test_watch_once_ends_the_search(box: Any, searching: None) -> None:
    box.command("watch", "--json", check=False)
    sources = [s["source"] for s in box.ask("overview")["watch"]]
    assert "newcomers" in sources
    told = box.command("watch", "--once", "--json", check=False)
    assert isinstance(json.loads(told.stdout), list)
    assert "newcomers" not in [s["source"] for s in box.ask("overview")["watch"]]
