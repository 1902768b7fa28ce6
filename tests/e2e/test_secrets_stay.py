"""A training that prints its keys before it dies: none of them leaves the daemon."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

TOKEN = "hf_" + "QwErTy12aSdFgH34zXcVbN56qWeRtY78uI"
PASSWORD = "Lamp7-Harbour-Tin"
SIGNED = "9bXk2Lq0Zt7Rw4Vn8Yc1Md5Hs3Jf6GpA"
OPTION = "kQ8vN3xT7mB2wR5yL9cF"
TRAINER = f"""
import time
print("step 1 loss 2.0", flush=True)
print("login with {TOKEN}", flush=True)
print("db at postgres://me:{PASSWORD}@db:5432/runs", flush=True)
print("GET https://b.example/c?se=2026&sig={SIGNED}", flush=True)
for n in range(2, 6):
    print(f"step {{n}} loss {{2 / n}}", flush=True)
    time.sleep(0.05)
raise RuntimeError("cannot push: password={PASSWORD} token {TOKEN}")
"""
SECRETS = (TOKEN, PASSWORD, SIGNED, OPTION)


def leaks(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


def test_no_key_of_a_log_leaves(box: Any, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAINER)
    run = box.run(sys.executable, str(script), "--hub-token", OPTION, name="gpt")
    box.until(lambda: box.status(run)["state"] == "failed", "its end")
    box.push(lambda p: "gpt" in p.title)
    told = {
        "push": "\n".join(f"{p.title}\n{p.body}" for p in box.receiver.pushes),
        "files of the push": "\n".join(
            data.decode("utf-8", "replace")
            for p in box.receiver.pushes
            for data in p.files.values()
        ),
        "daemon.log": box.log(),
        "log_tail": "\n".join(box.status(run)["log_tail"]),
        "overview": json.dumps([{**r, "command": []} for r in box.ask("overview")["runs"]]),
    }
    for name in ("training_status.md", "checkpoints_index.json"):
        told[name] = (box.state / "runs" / run / name).read_text()
    one = box.ask("incidents", all=True)[0]["id"]
    for words in (
        *(("status", run), ("status", run, "--json"), ("status", run, "--oneline")),
        *(("runs", "--json"), ("incidents", "--all", "--json"), ("incidents", "--all")),
        *(("evidence", one), ("evidence", one, "--json")),
        *(("explain", one), ("explain", one, "--json"), ("checkpoints", run, "--json")),
        *(
            ("replay", str(box.state / "runs" / run / "output.log"), *more)
            for more in ((), ("--json",))
        ),
    ):
        done = box.command(*words, check=False)
        told[" ".join(words)] = done.stdout + done.stderr
    assert all(told.values())
    assert {name: found for name, text in told.items() if (found := leaks(text))} == {}
    assert "***" in told["log_tail"]
    box.command("stop")
    with closing(sqlite3.connect(box.state / "middlewatch.sqlite")) as store:
        docs = [json.loads(doc) for (doc,) in store.execute("select doc from docs")]
    for doc in docs:
        doc.get("spec", {}).pop("command", None)  # `resume` needs it; the store is its owner's only
    assert leaks(json.dumps(docs)) == []
