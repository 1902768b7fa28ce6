"""What a run and its box cost, told by the real daemon to a real receiver."""

from __future__ import annotations

import json
import sys
from typing import Any

TRAIN = (
    "for step in range(1, 6):\n"
    "    print(f'step {step}/5 loss {3 / step:.3f}', flush=True)\n"
    "print('Training finished', flush=True)\n"
)


def test_a_finished_run_and_the_meter_that_runs_on(box: Any) -> None:
    box.extra_env["RUNPOD_POD_ID"] = "made-for-a-test"
    box.configure('[cost]\nprice_per_hour = 7200\ncurrency = "$"\nidle_after_s = 1\n')
    run = box.run(sys.executable, "-c", TRAIN, name="gpt")
    end = box.push(lambda p: p.title.startswith("[FINISHED] gpt on"))
    assert "Cost: 7200 $ an hour ([cost] price_per_hour); this run " in end.body
    assert "Stops the meter on RunPod: terminate, which cannot be undone" in end.body
    idle = box.push(lambda p: p.title.startswith("[WARNING] gpt on"))
    assert "the box still costs 7200 $ an hour" in idle.title + idle.body
    box.push(lambda p: p.title.endswith("is a box of RunPod: what to know once"))
    status = json.loads(box.command("status", run, "--json", check=False).stdout)
    assert status["cost"]["currency"] == "$"
    assert status["cost"]["run_amount"] > 0
    assert status["platform"]["id"] == "runpod"
    page = (box.state / "runs" / run / "training_status.md").read_text()
    assert "- cost: 7200 $ an hour" in page
    assert "- stops the meter on RunPod: terminate, which cannot be undone" in page
    (incident,) = json.loads(box.command("incidents", "--json", check=False).stdout)
    assert incident["class"] == "box_idle"
    assert incident["details"]["amount"] > 0


def test_a_killed_run_costs_what_it_has_to_do_again_only_where_a_save_is_known(box: Any) -> None:
    box.configure('[cost]\nprice_per_hour = 7200\ncurrency = "$"\n')
    box.run(sys.executable, "-c", "raise ValueError('bad shape')", name="gpt")
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    assert "work to be done again" not in push.body
    assert "Cost so far" not in push.body
    (incident,) = json.loads(box.command("incidents", "--json", check=False).stdout)
    assert incident["cost"] is None
