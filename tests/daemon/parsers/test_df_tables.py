"""Tables of df in a log, and what they explain."""

from __future__ import annotations

import pytest

from middlewatch.daemon.parsers.df_tables import full_disks
from middlewatch.daemon.replay.one_log import Replay, ReplayRules
from middlewatch.sentinels.kit import discover

RULES = ReplayRules(discover(), {}, pytest.fail)
BYTES = """Filesystem      Size  Used Avail Use% Mounted on
udev            7.9G     0  7.9G   0% /dev
/dev/sda1       104G  104G     0 100% /
/dev/loop0       99M   99M     0 100% /snap/core/8935
"""
INODES = """Filesystem       Inodes  IUsed IFree IUse% Mounted on
/dev/sda1      12902400 722443   12M    6% /
/dev/sda2          1.6M   1.6M     8  100% /data
"""
GERMAN = (
    "Dateisystem    Größe Benutzt Verf. Verw% Eingehängt auf\ntmpfs   600K  600K   0 100% /ckpt\n"
)
POLISH = "System plików iwęzły użyteI wolneI %uż.I zamont. na\n/dev/sdb1   640K   640K   0   100% /work\n"
TYPED = (
    "Filesystem Type 1K-blocks Used Available Use% Mounted on\n/dev/sdb1 ext4 4096 4096 0 100% /d\n"
)
FREE = BYTES.replace("104G     0 100%", "104G   1G  99%")
LOOP = "".join(f"epoch {n} loss {3 / n:.4f}\n" for n in range(1, 30))
FAILED = "RuntimeError: basic_ios::clear: iostream error\n"
SAVE = f'Traceback (most recent call last):\n  File "t.py", line 9, in <module>\n    torch.save(model, path)\n{FAILED}'


def told(text: str) -> list[tuple[str, object]]:
    lines = list(enumerate(text.splitlines(), 1))
    return [(one.trouble, one.details["path"]) for one in full_disks(lines, "a.log")]


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        (BYTES, [("disk_full", "/")]),
        (INODES, [("inode_exhausted", "/data")]),
        (BYTES + INODES, [("disk_full", "/"), ("inode_exhausted", "/data")]),
        (GERMAN, [("disk_full", "/ckpt")]),
        (POLISH, [("inode_exhausted", "/work")]),
        (TYPED, [("disk_full", "/d")]),
        ("tmpfs  600K  600K     0 100% /ckpt\n", [("disk_full", "/ckpt")]),
        (FREE, []),
        (LOOP, []),
    ],
)
def test_full_file_systems(table: str, wanted: list[tuple[str, object]]) -> None:
    assert told(table) == wanted


def end(text: str) -> tuple[str, str | None]:
    last = list(Replay("a.log", RULES).read([text.encode()], metrics=False))[-1]
    return last["verdict"], last["cause"]


def test_they_explain_a_write_that_failed() -> None:
    assert end(LOOP + SAVE) == ("failed", "ckpt_write_failed")
    assert end(LOOP + SAVE + BYTES) == ("failed", "disk_full")
    full = "bash: test.txt: No space left on device\n"
    assert end(LOOP + full + BYTES) == ("failed", "disk_full")
    assert end(LOOP + full + INODES) == ("failed", "inode_exhausted")


def test_alone_they_are_no_trouble() -> None:
    assert end(LOOP + BYTES)[0] != "failed"
    assert end(LOOP + "ValueError: bad row\n" + BYTES) == ("failed", "python_exception")
