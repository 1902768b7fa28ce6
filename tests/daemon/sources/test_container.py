"""The container of a run: whose it is, what became of it, and what its log says."""

from __future__ import annotations

import base64
import json
import os
import select
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.launch.containers import belongs, prints_there, voice
from middlewatch.daemon.parsers.recurring import LiveReader
from middlewatch.daemon.sources.container import Container
from middlewatch.daemon.sources.container_log import EngineLog, JsonFileLog
from middlewatch.daemon.sources.container_story import KILLED_S, Story, Told
from middlewatch.daemon.sources.container_text import ContainerText, Held
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.system.errors import Unsupported
from middlewatch.daemon.system.guard import Guard
from middlewatch.daemon.system.source import TelemetryLost
from middlewatch.daemon.system.worker import module_argv
from middlewatch.sentinels.kit import ContainerSeen, LogGrowth, Step

from ...fakes.clock import FakeClock
from ...fakes.docker_engine import ID, PaperEngine, inspected

START = 1_795_631_944_325_168_313
"""When the container was started, in ns."""
S = 10**9
FIRST, MAIN = 40, 42
HERE = f"0::/system.slice/docker-{ID}.scope"


class Proc:
    """The files of /proc of a few processes."""

    def __init__(self, folder: Path) -> None:
        self.root = str(folder)
        self._folder = folder

    def add(
        self,
        pid: int,
        ppid: int = 1,
        comm: str = "python",
        group: str = HERE,
        out: str = "pipe:[7]",
    ) -> None:
        folder = self._folder / str(pid)
        (folder / "fd").mkdir(parents=True, exist_ok=True)
        rest = f"S {ppid} {pid} {pid} 0 -1 0 0 0 0 0 50 50 0 0 20 0 1 0 {pid * 100} 0 0" + 30 * " 0"
        (folder / "stat").write_text(f"{pid} ({comm}) {rest}\n")
        (folder / "cgroup").write_text(group + "\n")
        for fd in ("1", "2"):
            (folder / "fd" / fd).unlink(missing_ok=True)
            (folder / "fd" / fd).symlink_to(out)

    def end(self, pid: int) -> None:
        (self._folder / str(pid) / "stat").unlink()


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    made = Proc(tmp_path / "proc")
    made.add(FIRST, comm="docker-init")
    made.add(MAIN, FIRST)
    return made


class Desk:
    """Stands for the guard of the child: keeps what is asked, and gives what a test answers."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, Any]] = []
        self.answer: dict[str, Any] | None = None
        self.late = 0.0
        self.left = False

    def ask(self, client: str, question: Mapping[str, Any]) -> bool:
        self.asked.append(question)
        return True

    def take(self, client: str) -> dict[str, Any] | None:
        answer, self.answer = self.answer, None
        return answer

    def late_s(self, client: str) -> float:
        return self.late

    def leave(self, client: str) -> None:
        self.left = True

    def fileno(self) -> int | None:
        return None


def state(**more: Any) -> dict[str, Any]:
    told = {"name": "gpt", "pid": FIRST, "status": "running", "started": START, "events": []}
    return {"state": {**told, **more}, "asked": START + 60 * S}


class Watched:
    """A container source at a desk; a look is a question and its answer."""

    def __init__(self, proc: Proc, saved: Mapping[str, Any] | None = None) -> None:
        self.desk, self.clock = Desk(), FakeClock(now=START / S + 60)
        self.found: list[Told] = []
        self.source = Container(
            ID,
            (MAIN, MAIN * 100),
            self.desk,  # type: ignore[arg-type]
            self.clock,
            self.found.append,
            saved,
            proc.root,
            born=START / S + 1,
        )

    def look(self, answer: dict[str, Any]) -> ContainerSeen:
        self.clock.jump(2)
        self.source.read(self.clock.now())
        self.desk.answer = answer
        (seen,) = self.source.ready(-1, self.clock.now())
        assert isinstance(seen, ContainerSeen)
        return seen


@pytest.fixture
def watched(proc: Proc) -> Watched:
    return Watched(proc)


# -- whose it is -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "inside"),
    [
        (HERE, True),
        (f"{HERE}/worker", True),
        (f"0::/user.slice/user-1000.slice/docker-{ID}.scope", False),
        (f"0::/system.slice/docker-{ID}.scope.fake", False),
        ("0::/", False),
    ],
)
def test_only_the_groups_of_the_engine_count(proc: Proc, group: str, inside: bool) -> None:
    """Anybody may call a control group of their own like the container of somebody else."""
    proc.add(77, group=group)
    assert belongs(77, FIRST, ID, proc.root) is inside


def test_what_is_not_in_it_is_told_nothing(proc: Proc, watched: Watched) -> None:
    proc.add(MAIN, FIRST, group=f"0::/user.slice/docker-{ID}.scope")
    with pytest.raises(Unsupported, match="it is not in the container 0123456789ab"):
        watched.look(state())
    assert watched.found == []
    assert watched.source.state()["started"] == 0


def test_the_groups_of_the_first_version(proc: Proc) -> None:
    text = f"9:name=systemd:/docker/{ID}\n4:memory:/docker/{ID}\n0::/\n"
    for pid in (FIRST, MAIN):
        Path(proc.root, str(pid), "cgroup").write_text(text)
    assert belongs(MAIN, FIRST, ID, proc.root)


@pytest.mark.parametrize(
    ("between", "said"),
    [
        ((), "init"),
        (("tini",), "init"),
        (("bash",), "shell"),
        (("bash", "docker-init"), "shell"),
        (("supervisord",), ""),
    ],
)
def test_whether_the_container_speaks_for_a_process(
    proc: Proc, between: Sequence[str], said: str
) -> None:
    above = FIRST
    for number, comm in enumerate(between, 50):
        proc.add(number, above, comm)
        above = number
    proc.add(60, above)
    assert voice(60, FIRST, proc.root) == said
    assert voice(FIRST, FIRST, proc.root) == "main"
    proc.add(61, 2)
    assert voice(61, FIRST, proc.root) == "", "what docker exec has started"


def test_what_prints_to_its_log(proc: Proc) -> None:
    assert prints_there([MAIN], FIRST, errors=False, proc=proc.root)
    proc.add(70, FIRST, out="pipe:[8]")
    assert not prints_there([70], FIRST, errors=True, proc=proc.root)
    (errors := Path(proc.root, "70", "fd", "2")).unlink()
    errors.symlink_to("pipe:[7]")
    assert prints_there([70], FIRST, errors=True, proc=proc.root)
    assert not prints_there([70], FIRST, errors=False, proc=proc.root), "its stdout is elsewhere"
    assert prints_there([MAIN], 999, errors=True, proc=proc.root) is None


# -- what became of it ---------------------------------------------------------------------------


def test_it_is_asked_every_two_seconds(watched: Watched) -> None:
    assert watched.look(state()).status == "running"
    assert watched.desk.asked[0]["since"] == int((START / S + 1) * 1e9) - 3 * S
    watched.source.read(watched.clock.now() + 1)
    assert len(watched.desk.asked) == 1
    watched.look(state())
    assert watched.desk.asked[1] == {"do": "look", "id": ID, "since": START + 60 * S}
    assert [told.name for told in watched.found] == ["gpt"], "once"


def test_a_pause_and_its_end(watched: Watched) -> None:
    watched.look(state())
    at = START + 62 * S
    seen = watched.look(state(status="paused", paused=True, events=[[at, "pause", ""]]))
    assert (seen.paused_at, seen.status) == (at / S, "paused")
    assert watched.look(state(status="paused", paused=True)).paused_at == at / S
    assert watched.look(state(events=[[at + S, "unpause", ""]])).paused_at is None
    late = watched.look(state(status="paused", paused=True))
    assert late.paused_at == START / S + 60, "its event was lost: since this look"


def ended(code: int, *events: list[Any], **more: Any) -> dict[str, Any]:
    end = [START + 70 * S, "die", str(code)]
    told = {"status": "exited", "pid": 0, "exit_code": code, "finished": START + 70 * S}
    return state(**{**told, "events": [*events, end], **more})


def kill(signal: int, before_s: float = 1) -> list[Any]:
    return [int(START + (70 - before_s) * S), "kill", str(signal)]


def after(action: str, after_s: float = 1) -> list[Any]:
    return [START + int((70 + after_s) * S), action, ""]


@pytest.mark.parametrize(
    ("code", "before", "later", "by"),
    [
        (137, [], [], ""),
        (1, [], [], ""),
        (143, [kill(15)], [], "docker stop"),
        (137, [kill(15, 10), kill(9, 0.1)], [], "docker stop"),
        (0, [kill(15)], [], "docker stop"),
        (130, [kill(2)], [after("stop")], "docker stop"),
        (0, [kill(15, 300)], [after("stop")], "docker stop"),
        (137, [kill(9)], [], "docker kill"),
        (137, [kill(9)], [after("destroy")], "docker rm -f"),
        (
            143,
            [kill(15)],
            [after("stop"), after("start", 2), after("restart", 2.1)],
            "docker restart",
        ),
        (1, [kill(10, 20)], [], ""),
        (138, [kill(10, 20)], [], "docker stop"),
        (143, [kill(15, KILLED_S + 1)], [], ""),
        (143, [kill(15)], [after("stop"), after("start", 9), after("restart", 99)], "docker stop"),
        (1, [], [after("start"), after("stop", 9), after("restart", 9.1)], ""),
    ],
)
def test_who_ended_it(
    watched: Watched, proc: Proc, code: int, before: list[Any], later: list[Any], by: str
) -> None:
    watched.look(state())
    proc.end(FIRST)
    proc.end(MAIN)
    answer = ended(code, *before)
    answer["state"]["events"] += later
    seen = watched.look(answer)
    assert seen.ended_by == by
    assert (seen.exit_code, seen.ended_at) == (code, START / S + 70)
    assert watched.source.exit_code() == code


def test_one_that_removes_itself_was_killed_and_not_removed(watched: Watched) -> None:
    watched.look(state(auto_remove=True))
    events = [kill(9), [START + 70 * S, "die", "137"], after("destroy")]
    seen = watched.look({"gone": "No such container", "events": events})
    assert (seen.status, seen.ended_by, seen.exit_code) == ("removed", "docker kill", 137)
    asked = len(watched.desk.asked)
    watched.clock.jump(60)
    watched.source.read(watched.clock.now())
    assert len(watched.desk.asked) == asked, "there is nothing more to ask"


def test_a_kill_for_memory(watched: Watched) -> None:
    watched.look(state(memory=1 << 30))
    oom = [START + 69 * S, "oom", ""]
    seen = watched.look(ended(137, oom, oom=True, memory=1 << 30))
    assert (seen.oom_at, seen.limit_bytes) == (START / S + 69, 1 << 30)
    assert seen.ended_by == ""


def test_a_kill_whose_event_was_lost(watched: Watched) -> None:
    watched.look(state())
    seen = watched.look(ended(137, oom=True))
    assert seen.oom_at == START / S + 70


def test_started_again_it_is_another_start(watched: Watched) -> None:
    watched.look(state())
    new = START + 80 * S
    died = [START + 70 * S, "die", "3"]
    again = state(
        status="running",
        started=new,
        finished=START + 70 * S,
        restarts=1,
        policy="on-failure",
        retries=5,
        events=[died, [new + S // 10, "start", ""], [new + 2 * S, "pause", ""]],
        paused=True,
    )
    seen = watched.look(again)
    assert (seen.exit_code, seen.ended_at) == (3, START / S + 70)
    assert (seen.again_at, seen.restarts, seen.policy) == (new / S, 1, "on-failure:5")
    assert seen.paused_at is None, "that is the next start"
    assert watched.source.until_ns == START + 70 * S


def test_the_status_of_an_earlier_start_is_not_that_of_this_one(watched: Watched) -> None:
    early = [START - 5 * S, "die", "3"]
    assert watched.look(state(events=[early])).exit_code is None
    assert watched.look(ended(0)).exit_code == 0


def test_without_events_its_state_tells_the_end(watched: Watched) -> None:
    watched.look(state())
    answer = ended(4)
    answer["state"]["events"] = []
    assert watched.look(json.loads(json.dumps(answer))).exit_code == 4
    assert watched.source.until_ns is None, "its event may come yet, and with it the next start"
    watched.look(answer)
    assert watched.source.until_ns == START + 72 * S, "it may still be writing"


def test_an_end_that_is_told_after_the_next_start(watched: Watched) -> None:
    watched.look(state())
    again = state(started=START + 80 * S, finished=START + 70 * S)
    assert watched.look(again).exit_code is None
    again["state"]["events"] = [[START + 70 * S, "die", "3"], [START + 81 * S, "start", ""]]
    assert watched.look(again).exit_code == 3
    assert watched.source.until_ns == START + 70 * S


def test_after_a_restart_of_the_daemon_it_is_the_same_start(proc: Proc, watched: Watched) -> None:
    watched.look(state())
    saved = json.loads(json.dumps(watched.source.state()))
    proc.end(FIRST)
    proc.end(MAIN)
    second = Watched(proc, saved)
    new = START + 80 * S
    seen = second.look(
        state(started=new, events=[[START + 70 * S, "die", "3"], [new, "start", ""]])
    )
    assert second.desk.asked[0]["since"] == START
    assert (seen.exit_code, seen.again_at) == (3, new / S)
    assert second.source.exit_code() == 3


def test_a_run_that_had_ended_when_the_engine_was_asked(proc: Proc, watched: Watched) -> None:
    """Its start is known by the time; of a status that a script has passed on, only a bad one."""
    proc.end(MAIN)
    proc.end(FIRST)
    assert watched.look(ended(3)).exit_code == 3
    assert watched.source.exit_code() == 3
    assert [told.name for told in watched.found] == ["gpt"]
    new = START + 80 * S
    second = Watched(proc)
    events = [[START - S, "die", "9"], [START + S, "start", ""], [START + 70 * S, "die", "5"]]
    seen = second.look(state(started=new, events=[*events, [new, "start", ""]]))
    assert (seen.exit_code, seen.again_at) == (5, new / S)
    third = Watched(proc)
    with pytest.raises(Unsupported, match="it had ended before"):
        third.look(state(started=new))


def test_a_script_that_ends_well_says_nothing(proc: Proc) -> None:
    proc.end(FIRST)
    proc.add(FIRST, comm="bash")
    watched = Watched(proc)
    watched.look(state())
    proc.end(MAIN)
    watched.look(ended(0))
    assert watched.source.exit_code() is None


# -- an engine that does not answer ---------------------------------------------------------------


def test_no_engine_is_no_failure(watched: Watched) -> None:
    for kind in ("absent", "refused", "gone"):
        with pytest.raises(Unsupported, match="as it is"):
            watched.look({kind: "as it is"})


def test_one_that_has_answered_before_is_missed(watched: Watched) -> None:
    watched.look(state())
    for kind in ("absent", "refused", "error"):
        with pytest.raises(TelemetryLost, match="as it is"):
            watched.look({kind: "as it is"})
    assert watched.look(state()).status == "running"


def test_one_that_hangs_is_stalled(watched: Watched) -> None:
    watched.look(state())
    watched.clock.jump(2)
    watched.source.read(watched.clock.now())
    watched.desk.answer = {"late": "the docker engine at /s does not answer"}
    assert watched.source.ready(-1, watched.clock.now()) == []
    assert watched.source.stalled(watched.clock.now()) == "the docker engine at /s does not answer"
    assert not watched.source.awaited, "nobody waits for it"
    watched.look(state())
    assert watched.source.stalled(watched.clock.now()) is None
    watched.desk.late = 11
    assert watched.source.stalled(watched.clock.now())


def test_the_end_is_waited_for_only_for_some_seconds(proc: Proc, watched: Watched) -> None:
    assert not watched.source.settled, "nothing is known before the first look"
    watched.look(state())
    watched.clock.jump(600)
    assert watched.source.settled
    proc.end(FIRST)
    assert not watched.source.settled
    watched.source._lost = True
    assert not watched.source.settled, "nor is a single bad answer an end"
    watched.clock.jump(6)
    assert watched.source.settled


@pytest.mark.parametrize("odd", [{"name": 7}, {"events": [["x"]]}, {"mounts": 3}, {}])
def test_what_cannot_be_read(watched: Watched, odd: dict[str, Any]) -> None:
    answer = {"state": odd, "asked": START} if odd == {} else state(**odd)
    with pytest.raises(TelemetryLost, match="cannot be read"):
        watched.look(answer)


def test_a_name_that_docker_would_not_allow_is_not_put_into_commands(watched: Watched) -> None:
    assert watched.look(state(name="a; rm -rf /")).name == ID[:12]


# -- with the real child --------------------------------------------------------------------------


@pytest.fixture
def paper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PaperEngine]:
    with tempfile.TemporaryDirectory() as folder:
        made = PaperEngine(Path(folder) / "s")
        yield made
        made.close()


def wait(guard: Guard, source: Container | EngineLog, now: float = 0.0) -> list[Any]:
    """Ask, and take the answer when it comes."""
    source.read(now)
    for _ in range(60):
        fd = guard.fileno()
        assert fd is not None
        select.select([fd], [], [], 60)
        said = list(source.ready(fd, now))
        if said or not source._asked:
            return said
    raise AssertionError("no answer")


def test_the_child_behind_its_walls_asks_the_engine(paper: PaperEngine) -> None:
    argv = (*module_argv("middlewatch.daemon.sources.programs.docker"), str(paper.path))
    guard = Guard(argv, SystemClock(), walls="docker")
    me = os.getpid()
    ticks = int(Path(f"/proc/{me}/stat").read_text().rpartition(")")[2].split()[19])
    found: list[Told] = []
    paper.container = inspected(state={"Pid": me})
    source = Container(ID, (me, ticks), guard, SystemClock(), found.append)
    try:
        with pytest.raises(Unsupported, match="it is not in the container"):
            wait(guard, source)  # we are in no container: so far the answer came
        paper.act = lambda one, target: one.sendall(b"0" * 100_000)
        source._due = 0.0
        with pytest.raises(Unsupported, match="does not answer as docker"):
            wait(guard, source)
    finally:
        source.close()
        guard.close()


# -- the text of its log --------------------------------------------------------------------------


def record(text: str, stream: str = "stdout", at_s: float = 1) -> bytes:
    ns = START + int(at_s * S)
    when = datetime.fromtimestamp(ns // S, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    stamp = f"{when}.{ns % S:09d}".rstrip("0") + "Z"
    return json.dumps({"log": text, "stream": stream, "time": stamp}).encode() + b"\n"


class Plain(LiveReader):
    """A reader that keeps what it is given."""

    def __init__(self) -> None:
        super().__init__("docker:gpt")
        self.got = b""

    def feed(self, data: bytes, now: float) -> list[Any]:
        self.got += data
        return super().feed(data, now)


def text_of(*chunks: bytes, **more: Any) -> str:
    reader = Plain()
    text = ContainerText(reader, **more)
    for chunk in chunks:
        text.feed(chunk, 1.0)
    return reader.got.decode()


def test_records_become_lines() -> None:
    assert text_of(record("step 1\n"), record("warn\n", "stderr")) == "step 1\nwarn\n"


def test_a_long_line_comes_in_pieces() -> None:
    a, b = "a" * 16384, "b" * 16384
    assert text_of(record(a), record("err\n", "stderr"), record(b), record("c\n")) == (
        f"err\n{a}{b}c\n"
    )


def test_a_progress_bar_comes_without_an_end_of_its_line() -> None:
    """16 KiB of updates: the last one may be cut in the middle."""
    got = text_of(record("\r 1%\r 2%\r 3", "stderr"), record("step 1\n"), record("%\r", "stderr"))
    assert got == "\r 1%\r 2%\rstep 1\n 3%\r"


def test_other_starts_are_left_out() -> None:
    log = [record("old\n", at_s=-2), record("mine\n"), record("next\n", at_s=9)]
    assert text_of(*log) == "old\nmine\nnext\n"
    assert text_of(*log, since_ns=START) == "mine\nnext\n"
    assert text_of(*log, since_ns=START, until_ns=START + 9 * S) == "mine\n"


@pytest.mark.parametrize(
    "bad", [b"\n", b"{\n", b"[]\n", b'{"log": 7}\n', b"\xff\n", b"[" * 9999 + b"\n", b"step 9\n"]
)
def test_what_is_no_record(bad: bytes) -> None:
    assert text_of(bad + record("step 1\n")) == "step 1\n"


def test_half_a_letter() -> None:
    assert text_of(b'{"log":"\\ud800x\\n","stream":"stdout","time":""}\n') == "?x\n"


@given(
    st.lists(st.tuples(st.text(max_size=20), st.sampled_from(["stdout", "stderr"])), max_size=12),
    st.integers(1, 50),
)
def test_any_cut_gives_the_same(texts: list[tuple[str, str]], cut: int) -> None:
    log = b"".join(record(text, stream) for text, stream in texts)
    pieces = [log[at : at + cut] for at in range(0, len(log), cut)]
    assert text_of(*pieces) == text_of(log)


def test_what_waits_survives_a_restart() -> None:
    first = ContainerText(Plain())
    whole = record("step 1 of ") + record("4\n")
    first.feed(whole[:-7], 1.0)
    saved = json.loads(json.dumps({"reader": first.save()}))
    reader = Plain()
    second = ContainerText(reader).restored(saved)
    second.feed(whole[-7:], 2.0)
    assert reader.got == b"step 1 of 4\n"
    assert ContainerText(Plain()).restored({"reader": {"container": 7}}).held == Held()


def test_the_end_takes_what_has_no_end() -> None:
    text = ContainerText(Plain())
    text.feed(record("no newline"), 1.0)
    text.finish(2.0)
    assert text.reader.got == b"no newline"  # type: ignore[attr-defined]


# -- its log as a file ------------------------------------------------------------------------------


class At:
    """A start of a container, as its log is told of it."""

    id = ID
    lives = True
    settled = True
    until_ns: int | None = None


def follow(path: Path, start: At, offset: Any = None) -> tuple[JsonFileLog, LiveReader]:
    reader = LiveReader("docker:gpt")
    if offset:
        reader = LiveReader.restore("docker:gpt", offset["reader"])
    text = ContainerText(reader, START).restored(offset)
    return JsonFileLog(str(path), "docker:gpt", text, start, None, offset=offset), reader


def numbers(seen: Any) -> list[float | None]:
    return [one.number for one in seen if isinstance(one, Step)]


def lines(*steps: int, at_s: float = 1) -> bytes:
    return b"".join(record(f"step {n} loss 2.5\n", at_s=at_s) for n in steps)


def test_it_is_followed_through_rotation_and_restarts(tmp_path: Path) -> None:
    path, start = tmp_path / f"{ID}-json.log", At()
    path.write_bytes(lines(1, 2) + lines(3)[:20])
    log, _ = follow(path, start)
    seen = list(log.read(10.0))
    assert numbers(seen) == [1, 2]
    growth = next(one for one in seen if isinstance(one, LogGrowth))
    assert (growth.file, log.name) == ("docker:gpt", "log_tail:docker:gpt")
    saved = json.loads(json.dumps(log.state()))
    log.close()
    with path.open("ab") as file:
        file.write(lines(3)[20:] + lines(4))
    path.rename(f"{path}.1")
    path.write_bytes(lines(5))
    log, reader = follow(path, start, saved)
    assert numbers(log.read(11.0)) == [3, 4, 5]
    assert reader.tail[-1] == (5, "step 5 loss 2.5")
    log.close()


def test_nothing_of_the_next_start_is_read(tmp_path: Path) -> None:
    path, start = tmp_path / f"{ID}-json.log", At()
    path.write_bytes(lines(1, at_s=-9) + lines(2))
    log, _ = follow(path, start)
    assert numbers(log.read(10.0)) == [2]
    start.lives = start.settled = False
    with path.open("ab") as file:
        file.write(lines(3) + record("no newline") + lines(1, 2, at_s=90))
    assert log.read(11.0) == (), "the engine has not told of the end yet"
    start.settled, start.until_ns = True, START + 80 * S
    assert numbers(log.read(12.0)) == [3]
    log.close()


# -- its log through the engine ---------------------------------------------------------------------


def engine_log(desk: Desk, start: At, offset: Any = None) -> EngineLog:
    reader = (
        LiveReader.restore("docker:gpt", offset["reader"]) if offset else LiveReader("docker:gpt")
    )
    text = ContainerText(reader, START).restored(offset)
    return EngineLog("docker:gpt", text, start, desk, START, offset=offset)  # type: ignore[arg-type]


def came(*texts: str, ns: int = START, count: int = 1, **more: Any) -> dict[str, Any]:
    records = [[1, base64.b64encode(text.encode()).decode()] for text in texts]
    place = {"ns": ns, "count": count}
    return {"records": records, "place": place, "more": False, "ended": False, **more}


def test_it_goes_on_after_a_restart_and_a_lost_connection() -> None:
    desk, start = Desk(), At()
    log = engine_log(desk, start)
    log.read(10.0)
    begin = {"since": START, "count": 0, "tty": False, "until": None}
    assert desk.asked == [{"do": "log", "id": ID, "begin": begin}]
    desk.answer = came("step 1 loss 2.5\nst", "ep 2 loss", ns=START + 5, count=2)
    assert numbers(log.ready(-1, 10.0)) == [1]
    assert log.level
    log.read(11.0)
    assert "begin" not in desk.asked[-1]
    saved = json.loads(json.dumps(log.state()))
    again = engine_log(desk, start, saved)
    again.read(12.0)
    begin = {"since": START + 5, "count": 2, "tty": False, "until": None}
    assert desk.asked[-1]["begin"] == begin
    desk.answer = came(" 2.4\n", ns=START + 6, ended=True)
    assert numbers(again.ready(-1, 12.0)) == [2]
    again.read(13.0)
    assert desk.asked[-1]["begin"]["since"] == START + 6, "it lives: the engine was restarted"


def test_it_is_over_when_the_container_has_ended() -> None:
    desk, start = Desk(), At()
    log = engine_log(desk, start)
    log.read(10.0)
    start.lives = False
    assert not log.level
    desk.answer = came("KeyError: 'x'", ended=True)
    log.ready(-1, 10.0)
    log.level.forget()
    assert log.level
    assert log.state()["reader"]["container"] == {"line": "", "stdout": "", "stderr": ""}
    asked = len(desk.asked)
    log.read(11.0)
    assert len(desk.asked) == asked


def test_one_that_had_ended_is_read_up_to_its_end() -> None:
    desk, start = Desk(), At()
    start.lives, start.until_ns = False, START + 70 * S
    log = engine_log(desk, start)
    log.read(10.0)
    assert desk.asked[-1]["begin"]["until"] == START + 70 * S


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"late": "the docker engine does not answer"}, TelemetryLost),
        ({"absent": "no docker engine"}, TelemetryLost),
        ({"error": "… configured logging driver does not support reading"}, Unsupported),
        ({"lost": True}, None),
        ({"gone": "No such container"}, None),
    ],
)
def test_what_may_come_instead_of_a_log(answer: dict[str, Any], error: type | None) -> None:
    desk = Desk()
    log = engine_log(desk, At())
    log.read(10.0)
    desk.answer = answer
    if error is None:
        assert log.ready(-1, 10.0) == []
    else:
        with pytest.raises(error):
            log.ready(-1, 10.0)
    asked = len(desk.asked)
    log.read(11.0)
    assert len(desk.asked) == asked + ("gone" not in answer)
    assert log.level
    log.level.forget()
    assert bool(log.level) == ("gone" in answer), (
        "one that was late may still have something to say"
    )
    log.close()
    assert desk.left


def test_a_story_without_a_start_takes_nothing() -> None:
    story = Story(0)
    story.add([(START, "die", "3")])
    assert not story.died
    told = replace(Told("gpt"), status="running")
    assert story.seen(1.0, told).exit_code is None
