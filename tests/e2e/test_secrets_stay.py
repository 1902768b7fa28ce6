"""A training whose keys stand in its log, its command, its environment and our configuration: none leaves."""

from __future__ import annotations

import json
import sqlite3
import sys
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

from ..fakes.planted import ALL, ARGUMENTS, CONFIG, ENVIRONMENT, LOG, URL, leaks

TRAINER = f"""
import sys, time
for n in range(1, 400):
    print(f"step {{n}} loss {{2 / n}}", flush=True)
time.sleep(1.0)
for line in {[one.text for one in LOG]!r}:
    print(line, flush=True)
raise RuntimeError({f"cannot push: password={LOG[0].secret} " + LOG[1].text!r})
"""


def test_no_secret_of_sixty_kinds_leaves(box: Any, tmp_path: Path) -> None:
    assert len({one.kind for one in ALL}) >= 60
    script = tmp_path / "train.py"
    script.write_text(TRAINER)
    box.extra_env |= {one.kind: one.text for one in ENVIRONMENT}
    user, path = (one.secret for one in URL)
    box.receiver.url = box.receiver.url.replace("://", f"://{user}@") + path
    beat, topic, second, third = (one.text for one in CONFIG)
    box.configure(
        f'[alerts]\nmode = "all"\nurls = ["{second}", "{third}"]\n[heartbeat]\nurl = "{beat}"\n'
        f'[answers]\ntopic = "{topic}"\n'
    )
    (tmp_path / "config.toml").chmod(0o600)
    options = [word for one in ARGUMENTS for word in (one.kind, one.text)]
    run = box.run(sys.executable, str(script), *options, name="gpt")
    box.until(lambda: box.status(run)["state"] == "failed", "its end")
    box.push(lambda p: "gpt" in p.title and p.files)
    box.until(lambda: "heartbeat was not accepted" in box.log(), "the trouble of the heartbeat")
    told = {
        "push": "\n".join(f"{p.title}\n{p.body}" for p in box.receiver.pushes),
        "files of the push": "\n".join(
            data.decode("latin-1") + data.decode("utf-8", "replace")
            for p in box.receiver.pushes
            for data in p.files.values()
        ),
        "daemon.log": box.log(),
        "log_tail": "\n".join(box.status(run)["log_tail"]),
        "overview": json.dumps([{**r, "command": []} for r in box.ask("overview")["runs"]]),
        "outbox": json.dumps(box.ask("outbox")),
    }
    for name in ("training_status.md", "checkpoints_index.json"):
        told[name] = (box.state / "runs" / run / name).read_text()
    one = box.ask("incidents", all=True)[0]["id"]
    bundle = str(tmp_path / "bundle.tar.gz")
    for words in (
        *(("status", run), ("status", run, "--json"), ("status", run, "--oneline")),
        *(("runs", "--json"), ("incidents", "--all", "--json"), ("incidents", "--all")),
        *(("evidence", one), ("evidence", one, "--json"), ("evidence", one, "--out", bundle)),
        *(("explain", one), ("explain", one, "--json"), ("checkpoints", run, "--json")),
        *(("config", "show", "--json"), ("alert", "list"), ("doctor", "--json"), ("logs", run)),
        *(
            ("replay", str(box.state / "runs" / run / "output.log"), *more)
            for more in ((), ("--json",))
        ),
    ):
        done = box.command(*words, check=False)
        told[" ".join(words)] = done.stdout + done.stderr
    with tarfile.open(bundle) as packed:
        for member in packed:
            data = packed.extractfile(member)
            assert data is not None
            told[f"bundle: {member.name}"] = data.read().decode("latin-1")
    assert any("png" in name for name in told)
    assert all(told.values())
    assert {name: found for name, text in told.items() if (found := leaks(text))} == {}
    assert told["log_tail"].count("***") >= len(LOG)
    box.command("stop")
    with closing(sqlite3.connect(box.state / "middlewatch.sqlite")) as store:
        docs = [json.loads(doc) for (doc,) in store.execute("select doc from docs")]
    for doc in docs:
        doc.get("spec", {}).pop("command", None)  # `resume` needs it; the store is its owner's only
    assert leaks(json.dumps(docs, ensure_ascii=False)) == []
    files = [f for f in box.state.rglob("*") if f.is_file() and f.name != "output.log"]
    kept = {f.name: f.read_bytes().decode("latin-1") for f in files if "sqlite" not in f.name}
    assert {name: found for name, text in kept.items() if (found := leaks(text))} == {}
