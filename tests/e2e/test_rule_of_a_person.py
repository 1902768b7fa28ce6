"""A rule of the person, by the real daemon: told to a real receiver, and over when it has not held."""

from __future__ import annotations

import json
import sys
from typing import Any

TRAIN = """\
import pathlib, time
step = 0
for loss, file in ((12.5, "told"), (2.5, "over")):
    while not pathlib.Path(file).exists():
        step += 1
        print(f"step {step}/100000 loss {loss:.3f}", flush=True)
        time.sleep(0.1)
"""


def test_a_rule_is_told_and_over(box: Any) -> None:
    box.configure(
        '[[rule]]\nname = "loss-high"\nmetric = "loss"\nabove = 9.0\nfor = "1s"\n'
        'severity = "critical"\nmessage = "the loss left its range"\n'
    )
    box.run(sys.executable, "-c", TRAIN, name="gpt")
    words = "the loss left its range: loss is 12.5, above 9 for 1 s"
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on") and words in p.title + p.body)
    assert "Proof: " in push.body
    assert "loss 12.500" in push.body
    (incident,) = json.loads(box.command("incidents", "--json", check=False).stdout)
    assert (incident["class"], incident["severity"]) == ("own_rule", "critical")
    assert incident["details"]["rule"] == "loss-high"
    (box.root / "told").touch()
    over = box.push(lambda p: p.title.startswith("[RESOLVED] gpt on"))
    assert "loss is 2.5: loss-high has not held for 1 s" in over.title + over.body
    (box.root / "over").touch()
