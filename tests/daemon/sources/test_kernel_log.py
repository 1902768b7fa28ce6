"""The kernel log: its records, its absence, and the real one where it may be read."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.sources.kernel_log import RECORDS, KernelLog, KernelRecord, parse
from middlewatch.daemon.system.errors import Unsupported
from middlewatch.sentinels.kit import LogEvent

F_SETPIPE_SZ = 1031  # linux/fcntl.h


def everything(line: str, now: float) -> list[LogEvent]:
    return [LogEvent(now, "gpu_xid", "root", "critical", False, line, details={"xid": 79})]


def only(word: str, line: str, now: float) -> list[LogEvent]:
    return everything(line, now) if word in line else []


# -- records


@pytest.mark.parametrize(
    ("raw", "record"),
    [
        (
            b"6,339,5140900,-;NET: Registered family 10\n",
            (339, 5.1409, 6, "NET: Registered family 10"),
        ),
        (
            b"4,1234,98765432,-;NVRM: Xid (PCI:0000:3b:00): 79\n SUBSYSTEM=pci\n DEVICE=+pci:x\n",
            (1234, 98.765432, 4, "NVRM: Xid (PCI:0000:3b:00): 79"),
        ),
        (b"30,7,0,-,caller=T1;systemd[1]: a\\x0ab \\xc3\\xa9\n", (7, 0.0, 6, "systemd[1]: a\nb é")),
        (b"3,8,1,c;no newline", (8, 1e-6, 3, "no newline")),
        (b"3,8,1,-;\\xff\n", (8, 1e-6, 3, "\ufffd")),
        (b"3,8,1,-;\n", (8, 1e-6, 3, "")),
    ],
)
def test_reads_a_record(raw: bytes, record: tuple[int, float, int, str]) -> None:
    assert parse(raw) == KernelRecord(*record)


@pytest.mark.parametrize(
    "raw",
    [b"", b"\n", b"3,8,1,-", b"3,8;x", b"a,8,1,-;x", b"3,-8,1,-;x", b"3,%s,1,-;x" % (b"9" * 50)],
)
def test_refuses_what_is_no_record(raw: bytes) -> None:
    assert parse(raw) is None


@given(st.binary())
def test_any_bytes(raw: bytes) -> None:
    parse(raw)
    parse(b"3,8,1,-;" + raw)


# -- absence


@pytest.mark.parametrize("there", [False, True])
def test_no_kernel_log(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "kmsg"
    if there:
        path.write_text("3,8,1,-;not the device\n")
    log = KernelLog(everything, path=str(path))
    for _ in range(2):
        with pytest.raises(Unsupported, match="something else" if there else "does not exist"):
            log.read(1.0)
    assert tuple(log.fds()) == ()
    log.close()


def test_another_device_is_not_read() -> None:
    with pytest.raises(Unsupported, match="something else"):
        KernelLog(everything, path="/dev/null").read(1.0)


@pytest.mark.skipif(os.geteuid() != 0, reason="drops root's rights in a child")
@pytest.mark.skipif(not Path("/dev/kmsg").exists(), reason="there is no /dev/kmsg")
def test_without_the_right_to_read_it() -> None:
    code = """
import os
from middlewatch.daemon.system.errors import Unsupported
from middlewatch.daemon.sources.kernel_log import KernelLog
log = KernelLog(lambda line, now: ())
if open("/proc/sys/kernel/dmesg_restrict").read().strip() != "0":
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
    try:
        log.read(1.0)
    except Unsupported as error:
        print(error)
else:
    print("may not be read here")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert "may not be read here" in done.stdout, done.stderr


# -- reading, from a pipe that keeps records apart as the device does


class Device:
    """The two ends of a packet pipe: one write is one read."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe2(os.O_DIRECT | os.O_NONBLOCK)
        fcntl.fcntl(self.writer, F_SETPIPE_SZ, 1 << 20)
        self.sequence = 0

    def say(self, text: str, skip: int = 0) -> None:
        self.sequence += 1 + skip
        os.write(
            self.writer, b"4,%d,%d,-;%s\n" % (self.sequence, self.sequence * 1000, text.encode())
        )


class PipedLog(KernelLog):
    """A kernel log whose device is a pipe."""

    def __init__(self, device: Device, saved: dict[str, object] | None = None) -> None:
        super().__init__(everything, saved)
        self.device = device

    def _open(self) -> None:
        self._fd = os.dup(self.device.reader)
        self._pass_over()


@pytest.fixture
def device() -> Iterator[Device]:
    one = Device()
    yield one
    os.close(one.reader)
    os.close(one.writer)


def test_what_was_there_before_us_is_passed_over(device: Device) -> None:
    device.say("old")
    log = PipedLog(device)
    assert log.read(1.0) == []
    device.say("NVRM: Xid 79")
    (event,) = log.read(2.0)
    assert (event.at, event.text, event.file, event.line) == (2.0, "NVRM: Xid 79", "kernel", 2)
    assert event.details == {"xid": 79, "uptime_s": 0.002}
    log.close()
    log.close()


def test_a_record_of_several_lines_is_matched_line_by_line(device: Device) -> None:
    log = PipedLog(device)
    log.read(1.0)
    device.say("a\\x0ab")
    assert [e.text for e in log.read(2.0)] == ["a", "b"]
    log.close()


def test_a_flood_is_taken_in_shares(device: Device) -> None:
    log = PipedLog(device)
    log.read(1.0)
    for number in range(RECORDS + 5):
        device.say(str(number))
    assert len(list(log.read(2.0))) == RECORDS
    assert log.more
    assert tuple(log.fds()) == ()
    assert len(list(log.read(3.0))) == 5
    assert not log.more
    assert len(tuple(log.fds())) == 1
    log.close()


def test_a_gap_is_counted(device: Device) -> None:
    log = PipedLog(device)
    log.read(1.0)
    device.say("a")
    device.say("b", skip=7)
    assert len(list(log.ready(0, 2.0))) == 2
    assert log.lost == 7
    assert log.detail == "7 records were overwritten before they could be read"
    log.close()


def test_garbage_between_records_is_skipped(device: Device) -> None:
    log = PipedLog(device)
    log.read(1.0)
    os.write(device.writer, b"garbage")
    device.say("a")
    assert [e.text for e in log.read(2.0)] == ["a"]
    log.close()


def test_a_restart_tells_nothing_twice(device: Device) -> None:
    log = PipedLog(device)
    log.read(1.0)
    device.say("a")
    log.read(2.0)
    saved = json.loads(json.dumps(log.state()))
    log.close()
    # The device shows all that it still holds to whoever opens it.
    device.sequence = 0
    device.say("a")
    device.say("b")
    log = PipedLog(device, saved)
    assert [e.text for e in log.read(3.0)] == ["b"]
    log.close()
    device.sequence = 0
    device.say("a")
    device.say("b")
    log = PipedLog(device, {**saved, "boot_id": "another"})
    assert log.read(4.0) == []
    log.close()


@pytest.mark.parametrize("saved", [{}, {"boot_id": None}, {"boot_id": 1, "sequence": "x"}])
def test_a_damaged_state_is_no_state(device: Device, saved: dict[str, object]) -> None:
    device.say("old")
    log = PipedLog(device, {**KernelLog(everything).state(), **saved})
    assert log.read(1.0) == []
    log.close()


# -- the real one


@pytest.mark.system
def test_the_real_kernel_log() -> None:
    word = f"middlewatch-test-{secrets.token_hex(4)}"
    log = KernelLog(lambda line, now: only(word, line, now))
    try:
        log.read(1.0)
    except Unsupported as error:
        pytest.skip(str(error))

    def tell(text: str) -> None:
        try:
            with open("/dev/kmsg", "w") as kmsg:
                kmsg.write(f"{word}: {text}\n")  # without it, the record stays open
        except OSError as error:
            pytest.skip(f"/dev/kmsg must not be written here: {error}")

    tell("one")
    (fd,) = log.fds()
    assert select.select([fd], [], [], 120)[0]
    assert [e.text for e in log.ready(fd, 2.0)] == [f"{word}: one"]
    saved = json.loads(json.dumps(log.state()))
    log.close()
    tell("two")
    log = KernelLog(lambda line, now: only(word, line, now), saved)
    assert [e.text for e in log.read(3.0)] == [f"{word}: two"]
    assert log.read(4.0) == []
    log.close()
