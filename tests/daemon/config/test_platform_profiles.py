"""The profiles of platforms: every row says where and when; they agree with what the program decides by."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.box.platform_report import report
from middlewatch.daemon.config import platform_profiles as profiles
from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.platform_facts import facts_of_all, names
from middlewatch.daemon.config.platform_profiles import age_months, ids, is_old, profile
from middlewatch.daemon.config.schema import Config
from middlewatch.daemon.system.clock import epoch
from middlewatch.daemon.system.errors import ConfigError

from ..box_tree import BoxTree

ROOT = Path(__file__).parents[3]
NOVEMBER = epoch("2026-11-22T12:00+00:00")
NO_LANDLORD = {"docker", "podman"}


def test_every_platform_that_is_recognised_has_a_profile() -> None:
    assert set(facts_of_all()) - NO_LANDLORD <= set(ids())
    assert {"gpuhub", "generic-ssh", "local"} <= set(ids())
    assert set(ids()) <= set(names())


@pytest.mark.parametrize("name", ids())
def test_every_row_is_whole(name: str) -> None:
    table = profiles._toml((profiles.PROFILES / f"{name}.toml").read_text("utf-8"))
    assert [*profiles.problems(table)] == []
    found = profile(name)
    assert found is not None
    sources = profiles.sources()
    for row in found.rows():
        assert row["source"] in sources, row
        assert row["month"] or row["source"] == "known", row
    assert found.says("meter.stop"), "the verb that stops the meter"
    assert found.about("meter.stop")[0].get("undo") is not None
    assert found.says("meter.keeps_billing")
    assert found.about("spot.grace"), "is it taken back?"


@pytest.mark.parametrize("name", sorted(set(facts_of_all()) - NO_LANDLORD))
def test_what_survives_is_what_the_program_decides_by(name: str) -> None:
    found = profile(name)
    assert found is not None
    known: dict[str, list[dict[str, Any]]] = {}
    for place in facts_of_all()[name]["place"]:
        known.setdefault(place["path"], []).append(place)
    for row in found.storage:
        for kind in ("stop", "destroy"):
            told = [p[kind] for p in known.get(row["path"], []) if kind in p and "env" not in p]
            if told and isinstance(row[kind], bool):
                assert row[kind] in told, (row["path"], kind)


def test_the_age_of_a_fact() -> None:
    assert age_months("2026-06", NOVEMBER) == 5
    assert age_months("2026-11", NOVEMBER) == 0
    assert age_months("", NOVEMBER) is None
    assert not is_old({"month": "2026-05"}, NOVEMBER)  # six months
    assert is_old({"month": "2026-04"}, NOVEMBER)  # seven
    assert not is_old({"month": ""}, NOVEMBER)


def linted(*words: str) -> subprocess.CompletedProcess[str]:
    asked = [sys.executable, "scripts/facts_age.py", *words]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_linter_fails_on_a_fact_of_seven_months() -> None:
    months = [
        row["month"]
        for name in ids()
        for row in (profile(name) or pytest.fail(name)).rows()
        if row["month"]
    ]
    year, month = map(int, min(months).split("-"))
    six, seven = (
        f"{year + (month + more - 1) // 12}-{(month + more - 1) % 12 + 1:02}" for more in (6, 7)
    )
    fine = linted("--today", six)
    assert fine.returncode == 0, fine.stdout
    assert "never looked up: " in fine.stdout
    late = linted("--today", seven)
    assert late.returncode == 1
    assert f"was read in {min(months)}: look it up again" in late.stdout
    assert "daemon/config/profiles/autodl.toml: storage /root/autodl-tmp" in late.stdout


# ------------------------------------------------------------------------ what is shown


@pytest.mark.parametrize("name", ids())
def test_the_report_of_each_platform(name: str) -> None:
    told = report(Config(), NOVEMBER, name, root="/nowhere")
    assert told is not None
    assert (told["id"], told["recognised"]) == (name, False)
    json.dumps(told)
    if name not in ("local", "gcp", "aws", "azure"):
        kinds = {fact["about"] for fact in told["facts"]}
        assert {"meter.stop", "meter.keeps_billing", "spot.grace", "detach"} <= kinds
        assert told["storage"]
    for row in (*told["storage"], *told["facts"], *told["clocks"]):
        assert row["source"]
        assert row["month"] is None or len(row["month"]) == 7
    assert told["old_facts"] == 0


def test_a_box_is_told_by_its_signs(tmp_path: Path) -> None:
    box = BoxTree(tmp_path)
    box.env("RUNPOD_POD_ID", "RUNPOD_API_KEY")
    told = report(Config(), NOVEMBER, root=str(box.root))
    assert told is not None
    assert (told["id"], told["recognised"]) == ("runpod", True)
    assert "env RUNPOD_POD_ID" in told["signs"]
    other = report(Config(), NOVEMBER, "vastai", root=str(box.root))
    assert other is not None
    assert (other["recognised"], other["signs"]) == (False, [])


def test_a_box_that_is_not_recognised_is_any_box_behind_ssh(tmp_path: Path) -> None:
    told = report(Config(), NOVEMBER, root=str(BoxTree(tmp_path).root))
    assert told is not None
    assert (told["id"], told["recognised"]) == ("generic-ssh", False)
    assert report(Config(), NOVEMBER, "runpot") is None


def test_the_configuration_names_what_cannot_be_recognised(tmp_path: Path) -> None:
    config = parse('[platform]\nname = "gpuhub"\n', "f")
    told = report(config, NOVEMBER, root=str(BoxTree(tmp_path).root))
    assert told is not None
    assert (told["id"], told["signs"]) == ("gpuhub", ["configuration"])
    assert any(row["path"] == "/root/autodl-tmp" for row in told["storage"])


def test_the_date_at_which_a_stopped_box_is_released() -> None:
    told = report(Config(), NOVEMBER, "autodl", root="/nowhere")
    assert told is not None
    clock = next(c for c in told["clocks"] if c["what"] == "stands stopped too long")
    assert clock["strikes_at_if_stopped_now"].startswith("2026-12-07T12:00")
    others = [c for c in told["clocks"] if c["runs"] != "stopped"]
    assert others
    assert {c["strikes_at_if_stopped_now"] for c in others} == {None}


def test_old_facts_are_marked() -> None:
    told = report(Config(), epoch("2027-02-01T00:00+00:00"), "autodl", root="/nowhere")
    assert told is not None
    assert told["old_facts"] > 0
    row = next(r for r in told["storage"] if r["path"] == "/root/autodl-tmp")
    assert (row["old"], row["age_months"]) == (True, 8)


# ------------------------------------------------------------------------ what a person knows better


def own(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "platforms.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def test_a_row_of_a_person_takes_the_place_of_ours(tmp_path: Path) -> None:
    path = own(
        tmp_path,
        "[autodl]\nprice_per_hour = 1.98\ncurrency = 'CNY'\n"
        'clock = [{ what = "stands stopped too long", after = "30 days", effect = "released",'
        ' runs = "stopped", hours = 720, warn_hours = 100 }]\n'
        'fact = [{ key = "convenience", says = "my own note" }]\n',
    )
    found = profile("autodl", path)
    plain = profile("autodl")
    assert found is not None
    assert plain is not None
    assert (found.price_per_hour, found.currency) == (1.98, "CNY")
    assert len(found.clocks) == len(plain.clocks)
    assert next(c for c in found.clocks if c["what"] == "stands stopped too long")["hours"] == 720
    assert len(found.about("convenience")) == len(plain.about("convenience")) + 1
    assert not profiles.is_unchecked(found.about("convenience")[-1])
    assert profile("autodl", tmp_path / "missing.toml") == plain


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[autodll]\n", "there is no platform 'autodll'"),
        ("[autodl]\nprices = 2\n", "has no list 'prices'"),
        ("[autodl]\nprice_per_hour = 'two'\n", "wrong type"),
        ('[autodl]\nfact = [{ key = "meter.halt", says = "x" }]\n', "known are meter.stop"),
        ('[autodl]\nfact = [{ key = "ssh", says = 7 }]\n', "wrong type"),
        ('[autodl]\nstorage = [{ says = "x" }]\n', "has no 'path'"),
        ('[autodl]\nclock = [{ what = "x", runs = "never" }]\n', "runs is one of"),
        (
            '[autodl]\nfact = [{ key = "ssh", says = "x", month = "June" }]\n',
            "written like 2026-11",
        ),
        ("[autodl\n", "not valid TOML"),
    ],
)
def test_a_mistake_in_it_is_told(tmp_path: Path, text: str, words: str) -> None:
    path = own(tmp_path, text)
    with pytest.raises(ConfigError, match=r"platforms\.toml") as caught:
        profile("autodl", path)
    assert words in str(caught.value)


def test_a_file_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    path = own(tmp_path, "[autodl]\nprice_per_hour = 1\n")
    path.chmod(0o666)
    with pytest.raises(ConfigError, match="is not used"):
        profile("autodl", path)
