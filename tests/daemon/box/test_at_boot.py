"""The start with the box: units and crontabs of ours, and what a person has made of them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from middlewatch.daemon.box import at_boot
from middlewatch.daemon.box.at_boot import NAME, UNITS, AtBoot, By, Failed, Wanted, way
from middlewatch.daemon.box.platforms import recognise

from ...fakes.systemd_analyze import analyze

ODD = Wanted(
    ("/opt/a b%c$d/bin/middlewatch",),
    (("MIDDLEWATCH_STATE_DIR", '/data/100% "mine"'),),
    ("/mnt/the nas", "/data/100%"),
)


PROGRAM = "/home/me/.middlewatch/venv/bin/middlewatch"


def boot(folder: Path, wanted: Wanted = ODD, by: By = "systemd") -> AtBoot:
    return AtBoot(by, str(folder / NAME), wanted)


@pytest.mark.parametrize("by", ["systemd", "systemd --user"])
def test_a_unit_is_ours_until_somebody_changes_it(tmp_path: Path, by: By) -> None:
    made = boot(tmp_path, by=by)
    assert made.state() == "new"
    unit = tmp_path / NAME
    unit.write_text(made.text())
    assert made.state() == "same"
    newer = boot(tmp_path, Wanted(("/elsewhere/middlewatch",)), by)
    assert newer.state() == "ours"
    unit.write_text(made.text().replace("WatchdogSec=60", "WatchdogSec=90"))
    assert (made.state(), newer.state()) == ("theirs", "theirs")
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    assert made.state() == "theirs"
    unit.unlink()
    unit.symlink_to("/dev/null")  # masked
    assert made.state() == "theirs"


def test_the_unit_of_the_documentation_counts_as_unchanged(tmp_path: Path) -> None:
    shutil.copy(UNITS / NAME, tmp_path)
    assert boot(tmp_path).state() == "ours"


@pytest.mark.system
@pytest.mark.parametrize("by", ["systemd", "systemd --user"])
def test_systemd_takes_odd_names(tmp_path: Path, by: By) -> None:
    program = tmp_path / "a b%c$d" / "middlewatch"
    program.parent.mkdir()
    program.symlink_to(sys.executable)
    made = boot(tmp_path, Wanted((str(program),), ODD.variables, ODD.writable), by)
    Path(made.path).write_text(made.text())
    assert analyze("verify", "--man=no", made.path) == (0, "")


def test_what_must_be_written_to_may_be(tmp_path: Path) -> None:
    text = boot(tmp_path).text()
    assert 'ReadWritePaths="-/mnt/the nas"\n' in text
    assert "ReadWritePaths=-/data/100%%\n" in text
    assert 'Environment="MIDDLEWATCH_STATE_DIR=/data/100%% \\"mine\\""\n' in text


LINE = AtBoot("cron", "", ODD).line


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("", "new"),
        ("# middlewatch was here\n0 4 * * * backup\n", "new"),
        ("@reboot /opt/middlewatch/bin/middlewatch start\n", "theirs"),
        (at_boot._crontab_with("0 4 * * * backup\n", LINE), "same"),
        (at_boot._crontab_with("", LINE.replace("a b", "old")), "ours"),
        (at_boot._crontab_with("", LINE).replace("*/5", "*/9"), "theirs"),
    ],
)
def test_a_crontab_is_read(text: str, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_boot, "OF_SYSTEM", "/nowhere")
    assert at_boot._crontab_state(text, LINE) == state


def test_a_crontab_keeps_what_was_in_it() -> None:
    before = "MAILTO=me\n0 4 * * * backup\n"
    once = at_boot._crontab_with(before, LINE)
    assert once.startswith(before)
    assert "100\\%" in once, "an unescaped percent sign would end the command"
    assert at_boot._crontab_with(once, LINE) == once
    other = LINE.replace("a b", "new")
    assert at_boot._crontab_with(once, other) == at_boot._crontab_with(before, other)


def test_a_program_that_refuses_is_heard(tmp_path: Path) -> None:
    refusing = tmp_path / "systemctl"
    with pytest.raises(Failed, match="cannot be started"):
        at_boot._run([str(refusing)])
    with pytest.raises(Failed, match="No such file"):
        at_boot._run(["ls", str(refusing)])


def test_a_platform_says_where_the_line_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    if Path("/run/systemd/system").is_dir() or at_boot._cron_runs():
        pytest.skip("systemd or cron starts it here")
    monkeypatch.setenv("VAST_CONTAINERLABEL", "C.1")
    found = way(ODD, recognise(name="vastai"), os.environ)
    assert (found.by, "onstart.sh" in found.hint) == ("by hand", True)
    assert found.state() == "new"
    assert found.put() == []


def test_a_crontab_is_as_it_was_when_our_lines_are_taken_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = "MAILTO=me\n0 4 * * * backup\n"
    table = [at_boot._crontab_with(before, f"{PROGRAM} start")]

    def run(argv: Sequence[str], text: str = "") -> str:
        if argv[-1] == "-":
            table.append(text)
        return table[-1]

    monkeypatch.setattr(at_boot, "_run", run)
    monkeypatch.setattr(at_boot, "OF_SYSTEM", "/nowhere")
    assert AtBoot("cron", "", Wanted(("/another/bin/middlewatch",))).take_back() != []
    assert len(table) == 1, "that of another installation is kept"
    assert AtBoot("cron", "", Wanted((PROGRAM,))).take_back() == []
    assert table[-1] == before
    assert AtBoot("cron", "", Wanted((PROGRAM,))).take_back() == []
    assert len(table) == 2, "a second time there is nothing to do"


def test_a_unit_is_taken_back_unless_it_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[list[str]] = []

    def run(argv: Sequence[str], text: str = "") -> str:
        told.append(list(argv))
        return text

    monkeypatch.setattr(at_boot, "_run", run)
    unit = AtBoot("systemd", str(tmp_path / "middlewatch.service"), Wanted((PROGRAM,)))
    path = Path(unit.path)
    assert unit.take_back() == []
    path.write_text(AtBoot("systemd", unit.path, Wanted(("/another/bin/middlewatch",))).text())
    assert "another installation" in unit.take_back()[0]
    path.write_text(unit.text() + "# mine\n")
    assert "changed by a person" in unit.take_back()[0]
    assert told == []
    path.write_text(unit.text())
    assert unit.take_back() == []
    assert not path.exists()
    assert told[0][:3] == ["systemctl", "disable", "--now"]
