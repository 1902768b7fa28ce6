"""An index that is worked out again only where something changed is the same as one worked out anew."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.checkpoints.index import Settled, build
from middlewatch.daemon.checkpoints.ranking import RankingRules
from middlewatch.daemon.mirror.source import Copies
from middlewatch.sentinels.kit import CheckpointSaved, CheckpointSeen, Step
from middlewatch.sentinels.kit.observations import VerifiedState

ACTS = ("save", "other save", "verdict", "again", "gone", "report", "claim", "copied", "time")
VERDICTS: tuple[VerifiedState, ...] = ("ok", "corrupt", "pending")
RULES = (RankingRules(), RankingRules(milestone_every_steps=4))


class Run:
    """A run whose index is built again after each act."""

    def __init__(self, settled: Settled | None) -> None:
        self.settled = settled
        self.now = 1000.0
        self.step = 0.0
        self.saves: list[CheckpointSeen] = []
        self.steps: list[Step] = []
        self.claims: list[CheckpointSaved] = []
        self.copies = Copies()
        self.rules = RULES[0]
        self.index: dict[str, Any] = build("r", (), self.now)

    def act(self, act: str, which: int) -> None:
        self.now += 1.0 + which
        place = which % len(self.saves) if self.saves else 0
        if act in ("save", "other save"):
            self.step += 1
            named = None if act == "other save" else self.step
            path = f"/w/{self.step:g}-{which}"  # no two observations are of one path
            self.saves.append(
                CheckpointSeen(self.now, path, self.now, which, 1, "torch", step=named, state="ok")
            )
        elif act == "report":
            self.step += which % 3
            values = {"train_loss": 1 / (1 + which), "eval_loss": float(which)}
            self.steps = [*self.steps, Step(self.now, self.step, values)][-4:]
        elif act == "claim":
            claimed = self.saves[place].path if self.saves else None
            self.claims = [*self.claims, CheckpointSaved(self.now, self.step, claimed)][-3:]
        elif act == "time":
            self.rules = RULES[which % 2]
        elif not self.saves:
            return
        elif act == "verdict":
            state = VERDICTS[which % 3]
            self.saves[place] = replace(self.saves[place], state=state, level="structure")
        elif act == "again":
            self.saves[place] = replace(self.saves[place], saved_at=self.now, digest="d" * which)
        elif act == "gone":
            del self.saves[place]
        elif act == "copied" and self.index["checkpoints"]:
            entry = self.index["checkpoints"][which % len(self.index["checkpoints"])]
            self.copies.states[entry["path"], entry["saved_at"]] = {"state": "ok", "to": str(which)}

    def build(self) -> None:
        self.index = build(
            "r",
            list(self.saves),
            self.now,
            rules=self.rules,
            started_at=1001.0,
            steps=self.steps,
            claims=self.claims,
            before=self.index,
            settled=self.settled,
        )
        self.copies.into(self.index)


@given(st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 9)), max_size=40))
def test_it_is_the_same_as_one_that_is_made_anew(acts: list[tuple[str, int]]) -> None:
    plain, kept = Run(None), Run(Settled())
    for act, which in acts:
        before, text = kept.index, json.dumps(kept.index)
        for run in (plain, kept):
            run.act(act, which)
            run.build()
        assert kept.index == plain.index
        assert json.dumps(before) == text, "the index before is left as it was"
