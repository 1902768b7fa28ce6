"""What an engine says of containers, as the standing of a job; and how its clients are called."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.engines import docker_state
from middlewatch.daemon.engines.docker import Driver
from middlewatch.daemon.engines.docker_client import Client, Done, Late, NotFound, container_id
from middlewatch.daemon.engines.docker_ready import listening
from middlewatch.daemon.engines.docker_state import ContainerState, events_of, standing, together
from middlewatch.daemon.system.errors import DaemonUnreachable, MiddlewatchError, UsageError

from ...fakes import local_shell


def told(*events: str, **state: Any) -> ContainerState:
    """A container as docker 20.10 tells it, in the format that is asked for."""
    data = {
        "id": "ab" * 32,
        "name": f"/{state.pop('name', 'gpt')}",
        "created": "2026-11-27T03:04:05.123456789Z",
        "image_id": "sha256:cd",
        "image": "torch",
        "program": state.pop("program", "timeout"),
        "restarts": state.pop("restarts", 0),
        "memory": state.pop("memory", 0),
        "stop_s": state.pop("stop_s", 90),
        "state": {
            "Status": "exited",
            "ExitCode": 0,
            "OOMKilled": False,
            "Error": "",
            "StartedAt": "2026-11-27T03:04:05.5Z",
            "FinishedAt": "2026-11-27T03:59:59.999999999Z",
            "Pid": 0,
            **state,
        },
    }
    return docker_state.told(json.dumps(data), "", events)


@pytest.mark.parametrize(
    ("events", "state", "wanted", "why"),
    [
        ((), {}, "finished", "exit status 0"),
        ((), {"ExitCode": 1, "restarts": 2}, "failed", "exit status 1, started again 2 times"),
        ((), {"ExitCode": 127, "Error": "no such file"}, "failed", "exit status 127: no such file"),
        (("kill 15", "stop"), {}, "stopped", "ended through docker stop, exit status 0"),
        (("kill 9",), {"ExitCode": 137}, "stopped", "docker kill (signal 9), exit status 137"),
        # A signal with which a trainer is asked to save ends nothing.
        (("kill 10",), {"ExitCode": 1}, "failed", "exit status 1"),
        ((), {"ExitCode": 137}, "failed", "ended by SIGKILL, who sent it is not known to docker"),
        ((), {"ExitCode": 143}, "stopped", "ended by SIGTERM"),
        ((), {"ExitCode": 124}, "stopped", "its time was over (max_time)"),
        ((), {"ExitCode": 124, "program": "python"}, "failed", "exit status 124"),
        (
            ("oom",),
            {"ExitCode": 137, "OOMKilled": True, "memory": 1 << 30},
            "failed",
            "killed because memory ran out: OOMKilled (limit 1.0 GiB)",
        ),
        # A worker was killed, and the training went on without it.
        (("oom",), {"OOMKilled": True}, "finished", "exit status 0"),
        ((), {"Status": "running", "Pid": 7}, "running", "running"),
        ((), {"Status": "paused", "Pid": 7}, "running", "paused (docker pause)"),
        ((), {"Status": "created"}, "waiting", "created"),
        ((), {"Status": "created", "Error": "no card"}, "failed", "never started: no card"),
    ],
)
def test_what_became_of_one(
    events: tuple[str, ...], state: dict[str, Any], wanted: str, why: str
) -> None:
    found, reason = standing(told(*events, **state))
    assert found == wanted
    assert why in reason


def test_one_that_failed_fails_the_job_while_the_others_wait() -> None:
    ones = [told(name="a-0", Status="running", Pid=7), told(name="a-1", ExitCode=3)]
    found = together([(one.name, *standing(one)) for one in ones], ones)
    assert (found.standing, found.exit_code) == ("failed", 3)
    assert found.reason == "a-1: exit status 3; 1 of 2 still run"
    ones = [told(name="a-0"), told(name="a-1")]
    found = together([(one.name, *standing(one)) for one in ones], ones)
    assert (found.standing, found.exit_code) == ("finished", 0)
    assert [one["finished_at"] for one in found.details["containers"]] == [
        "2026-11-27T03:59:59.999999999Z"
    ] * 2


def test_the_stop_that_follows_the_end_is_asked_for() -> None:
    since, until = docker_state.time_of_events(told())
    assert (since, until) == ("2026-11-27T03:04:05Z", "2026-11-27T04:00:01Z")


def test_events_are_read_and_others_are_left_out() -> None:
    lines = [
        {"Action": "kill", "Actor": {"Attributes": {"signal": "15", "name": "gpt"}}},
        {"Action": "exec_start: sh", "Actor": {"Attributes": {}}},
        {"Action": "stop", "Actor": {"Attributes": {"name": "gpt"}}},
        {"Action": "stop"},
    ]
    text = "\n".join(map(json.dumps, lines)) + "\nno json\n"
    assert events_of(text) == ["kill 15", "stop"]


@pytest.mark.parametrize("text", ["", "{}", '{"id": 1, "state": {}}', "[]"])
def test_an_answer_that_cannot_be_read_is_told(text: str) -> None:
    with pytest.raises(MiddlewatchError, match="cannot be read"):
        docker_state.told(text, "")


def test_only_ports_that_somebody_listens_at_are_taken() -> None:
    table = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1
   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 2
   0: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 3
"""
    assert listening(table) == {29500, 22}


def test_the_id_of_a_container_stands_among_the_words_of_a_start_that_failed() -> None:
    assert container_id(f"WARNING: no swap limit\n{'0a' * 32}\n") == "0a" * 32
    assert container_id("docker: Error response from daemon: Conflict.") == ""


@pytest.mark.parametrize(
    ("said", "kind", "hint"),
    [
        ("Error: No such container: gpt", NotFound, ""),
        (
            'docker: Error response from daemon: could not select device driver "" with capabilities',
            UsageError,
            "NVIDIA Container Toolkit",
        ),
        (
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.",
            UsageError,
            "systemctl start docker",
        ),
        ("docker: Error response from daemon: something new.", MiddlewatchError, ""),
    ],
)
def test_errors_say_what_to_do(said: str, kind: type[MiddlewatchError], hint: str) -> None:
    error = Client().failed(Done(1, "", f"{said}\nSee 'docker run --help'.\n"))
    assert type(error) is kind
    assert hint in error.hint
    assert "See 'docker" not in str(error)


def test_a_machine_that_ssh_reaches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RSYNC_RSH", str(local_shell.shell(tmp_path)))
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "cat", "sleep"):
        (tools / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tools))
    local_shell.box(tmp_path, "gpu1")
    far = Client("gpu1")
    value = 'it\'s "$(id)" \\ \n\n 秘密 '
    shown = far.run(("sh", "-c", 'printf %s "$A"; cat'), 60.0, {"A": value, "B": ""})
    assert shown == Done(0, value, "")
    assert far.typed("docker", "rm", "a b") == "ssh gpu1 'docker rm '\"'\"'a b'\"'\"''"
    with pytest.raises(Late):
        far.run(("sleep", "600"), 0.2)
    with pytest.raises(DaemonUnreachable, match="gpu9 is not reached"):
        Client("gpu9").docker("version")
    with pytest.raises(UsageError, match="no name of a box"):
        Client("-oProxyCommand=x")
    with pytest.raises(UsageError, match="no docker client on gpu1"):
        far.docker("version")


def test_neither_docker_nor_ssh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("RSYNC_RSH", raising=False)
    why, what = Driver().missing()
    assert "no docker client here" in why
    assert "apt-get install docker.io" in what
    with pytest.raises(UsageError, match="docker cannot be started"):
        Client().docker("version")
