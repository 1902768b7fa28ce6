"""A run that prints far more than can be read: a person is told how far behind, and it ends well."""

from __future__ import annotations

import sys
from typing import Any

PROGRAM = """
import pathlib, time
print("step 1/90000000 loss 2.0 lr 3e-04", flush=True)
while not pathlib.Path("flood").exists():
    time.sleep(0.05)
for part in range(60):
    lines = (f"step {2 + part * 30000 + n}/90000000 loss {2 + n % 97 / 1000:.4f} lr 3e-04" for n in range(30000))
    print("\\n".join(lines), flush=True)
while not pathlib.Path("end").exists():
    time.sleep(0.05)
raise SystemExit(3)
"""


def test_a_run_that_floods_its_log(box: Any) -> None:
    box.command("start")
    run = box.run(sys.executable, "-c", PROGRAM, name="flood")
    box.steps(1, run=run)
    (level,) = box.status(run)["logs"]
    assert (level["behind_bytes"], level["behind_s"], level["left_out_bytes"]) == (0, None, 0)
    (box.root / "flood").touch()
    told: list[str] = []

    def behind() -> bool:
        status = box.status(run)
        (row,) = status["logs"]
        told[:] = [note for note in status["notes"] if "behind its end" in note]
        return row["behind_bytes"] > 1 << 20 and row["behind_s"] >= 5.0 and bool(told)

    box.until(behind, "it is behind")
    assert " of " not in told[0]
    assert level["path"] in told[0]
    assert "late" in told[0]
    page = (box.state / "runs" / run / "training_status.md").read_text()
    assert "## Watch" in page
    (box.root / "end").touch()
    box.until(lambda: box.status(run)["state"] == "failed", "its end")
    box.until(lambda: box.status(run)["logs"][0]["left_out_bytes"], "its last lines")
    assert box.status(run)["exit"]["code"] == 3
    assert any("were not read" in note for note in box.status(run)["notes"])
