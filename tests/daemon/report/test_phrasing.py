"""The language and the templates of a push."""

from __future__ import annotations

import re
from typing import Any

import pytest

from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.templates import FIELDS, filled, wrong
from middlewatch.daemon.report.chinese import CLASSES, FIRST_STEPS, LABELS, SENTENCES
from middlewatch.daemon.report.phrasing import parts_of, phrased
from middlewatch.daemon.report.titles import titled
from middlewatch.daemon.system.errors import ConfigError
from middlewatch.sentinels.handbook import page, pages

LONG = "llama-3-8b-sft-long-experiment-v23"
BODY = """\
Since 07:54 UTC (6 min ago)
Proof: train.log:4210: step 4210 loss nan
Last good checkpoint: /data/out/step_4100 (step 4100), full checked
First step: Find the first bad step: `grep -n -i -m 1 -w nan /data/t.log`. Then find the newest \
checkpoint saved before it: `middlewatch checkpoints`.
Incident 3fa2c1: middlewatch explain 3fa2c1"""


def told(title: str, body: str = BODY, **more: Any) -> tuple[str, str]:
    known = {"trouble": "loss_nan", "run": "run7", "incident": "3fa2c1"}
    return phrased(title, body, **(known | more))


def test_without_settings_nothing_is_changed() -> None:
    title = "[CRITICAL] run7 on box3: loss is NaN since step 4210"
    assert told(title) == (title, BODY)


def test_chinese() -> None:
    title, body = told("[CRITICAL] run7 on box3: loss is NaN since step 4210", language="zh")
    assert title == "[严重] run7 @ box3: 自第 4210 步起损失为 NaN"
    lines = body.split("\n")
    assert lines[0] == "开始于 07:54 UTC (6 min ago)"
    assert lines[1] == "证据：train.log:4210: step 4210 loss nan"
    assert lines[3].startswith("第一步：找到第一个坏的步：`grep -n -i -m 1 -w nan /data/t.log`。")
    assert "3fa2c1" in lines[4]


def test_what_has_no_entry_stays_english_after_the_name_of_its_class() -> None:
    title, body = told("[WARNING] run7 on box3: strange words", "Something of a log", language="zh")
    assert title == "[警告] run7 @ box3: 损失为 NaN：strange words"
    assert body == "Something of a log"


def test_a_first_step_by_the_evidence_is_not_taken_for_that_of_the_handbook() -> None:
    step = "First step: do something else first: `df -h /x`, then `ls`"
    assert told("[CRITICAL] run7 on box3: x", step, language="zh")[1].startswith(
        "第一步：do something"
    )


def test_reminders_drills_and_long_names_in_chinese() -> None:
    what = "loss is NaN since step 4210"
    again = told(f"[DRILL] [CRITICAL, reminder 2] run7 on box3: {what}", language="zh")[0]
    assert again == "[演练] [严重，第 2 次提醒] run7 @ box3: 自第 4210 步起损失为 NaN"
    long = told(titled("CRITICAL", LONG, "box3", what), run=LONG, language="zh")[0]
    assert long == f"[严重] {LONG} @ box3: 自第 4210 步起损失为 NaN"


@pytest.mark.parametrize("name", ["run7", LONG, "a on b", "x: y"])
@pytest.mark.parametrize("host", ["box3", "gpu-17.example"])
def test_a_title_is_taken_apart_as_it_was_put_together(name: str, host: str) -> None:
    parts = parts_of(titled("WARNING", name, host, "disk is full"), name)
    assert parts is not None
    assert (parts.label, parts.what) == ("WARNING", "disk is full")
    assert host.startswith(parts.host.rstrip("…"))


def test_templates() -> None:
    templates = ("{severity} {run}: {what}", "{what}\n{proof}\n{checkpoint}\n{first_step}")
    title, body = told("[CRITICAL] run7 on box3: loss is NaN", templates=templates)
    assert title == "CRITICAL run7: loss is NaN"
    assert body.split("\n")[:2] == ["loss is NaN", "train.log:4210: step 4210 loss nan"]
    whole = told("[CRITICAL] run7 on f81d4f…: x", "Box: f81d4fae7dec", templates=("{host}", ""))
    assert whole[0] == "f81d4fae7dec"
    assert told("[DRILL] [CRITICAL] run7 on box3: x", templates=templates)[0].startswith("[DRILL] ")
    # What is not about a run has nothing to put in.
    kept = "[TEST] middlewatch can reach you"
    assert told(kept, "b", templates=templates) == (kept, "b")


def test_a_template_makes_no_body_longer_than_a_body_may_be() -> None:
    templates = ("", "{body}\n{body}\n{body}\n{body}")
    assert len(told("[CRITICAL] run7 on box3: x", templates=templates)[1]) == 1000


def test_a_template_keeps_braces_and_leaves_out_empty_lines() -> None:
    assert filled("{{x}} {run}\nproof {proof}\nend", {"run": "r", "proof": ""}) == "{x} r\nend"
    # A value with braces is no template.
    assert filled("{run}", {"run": "{what}", "what": "no"}) == "{what}"


def test_the_configuration_refuses_a_template_that_cannot_be_filled() -> None:
    assert parse('[alerts]\ntitle = "{severity} {run}: {what}"\n', "c").alerts.title
    for text, said in (("{nobody}", "no field {nobody}"), ("{run", "single {"), ("}", "single }")):
        with pytest.raises(ConfigError, match=re.escape(said)):
            parse(f'[alerts]\ntitle = "{text}"\n', "c")
        with pytest.raises(ConfigError, match=re.escape(said)):
            parse(f'[alerts]\nbody = "{text}"\n', "c")
    assert [name for name in FIELDS if wrong("{" + name + "}")] == []


def test_every_class_has_a_chinese_name() -> None:
    assert sorted(CLASSES) == sorted(pages())
    assert all(re.search(r"[\u4e00-\u9fff]|NaN", words) for words in CLASSES.values())


def test_chinese_first_steps_use_commands_that_the_handbook_has() -> None:
    for name, words in FIRST_STEPS.items():
        entry = page(name)
        assert entry is not None, name
        commands = re.findall(r"`[^`]*`", entry.first_step.text)
        places = {int(n) for n in re.findall(r"\{(\d)\}", words)}
        assert places, name
        assert max(places) < len(commands), name
        step = phrased("t", f"First step: {entry.first_step.text}", trouble=name, language="zh")[1]
        assert step == f"第一步：{words.format(*commands)}"


def test_chinese_sentences_have_the_slots_of_the_english_ones() -> None:
    for english, words in SENTENCES.items():
        have, want = (set(re.findall(r"\{(\w+)\}", one)) for one in (english, words))
        assert want <= have, english
    assert all(LABELS.values())
