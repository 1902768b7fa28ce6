"""``setup``: three questions, a real daemon, and a phone on loopback that rings."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ...fakes import box_wide
from ...fakes.receiver import Receiver
from ...fakes.talk import Talk

COMMAND = [sys.executable, "-m", "middlewatch.daemon"]
CTRL_C, CTRL_D = "\x03", "\x04"
ASKED = ("which [1]", "place [", "start with the box? [Y/n]")
"""The three questions, in their order."""


class Box:
    """A state directory and a configuration of its own; commands in processes of their own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state, self.config = root / "state", root / "etc" / "config.toml"
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MIDDLEWATCH")}
        self.env = kept | {
            "MIDDLEWATCH_STATE_DIR": str(self.state),
            "MIDDLEWATCH_CONFIG": str(self.config),
            # A push to a service of the internet is refused at once, and nobody is called.
            "https_proxy": "http://127.0.0.1:9",
            "no_proxy": "127.0.0.1",
        }

    def say(self, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *words],
            input=text,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env=self.env,
            cwd=self.root,
        )

    def asks(self, *words: str, text: str = "") -> Any:
        done = self.say("setup", *words, "--json", text=text)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    def talk(self, *words: str) -> Talk:
        return Talk([*COMMAND, "setup", *words], self.env, cwd=self.root)

    def pid(self) -> int:
        return int((self.state / "middlewatch.lock").read_text())


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    made = Box(tmp_path)
    yield made
    made.say("stop")


@pytest.fixture
def phone() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def secret(phone: Receiver, word: str = "geheim") -> str:
    return f"{phone.url}{word}"


# ------------------------------------------------------------------------ by options


@pytest.mark.parametrize(
    ("words", "lacking"),
    [
        ((), ("--alert", "--mirror", "--boot", "--yes")),
        (("--no-alert",), ("--mirror", "--boot")),
        (("--no-alert", "--no-mirror"), ("--boot",)),
    ],
)
def test_without_a_terminal_it_says_which_options(
    box: Box, words: tuple[str, ...], lacking: tuple[str, ...]
) -> None:
    done = box.say("setup", *words)
    assert done.returncode == 2
    assert [word for word in lacking if word not in done.stderr] == []
    assert [word for word in words if word in done.stderr] == []
    assert os.listdir(box.root) == []


def test_a_url_on_the_command_line_is_refused_and_not_repeated(box: Box) -> None:
    done = box.say("setup", "--alert", "json://127.0.0.1:1/geheim", "--yes")
    assert (done.returncode, "geheim" in done.stdout + done.stderr) == (2, False)
    assert "--alert -" in done.stderr
    assert os.listdir(box.root) == []


def test_by_options_the_phone_rings_and_no_secret_is_printed(box: Box, phone: Receiver) -> None:
    words = ("--alert", "-", "--mirror", "copies", "--no-boot", "--yes")
    told = box.asks(*words, text=f"# mine\n{secret(phone)}\n")
    assert [push.data["title"] for push in phone.got] == ["[TEST] middlewatch can reach you"]
    assert phone.got[0].path == "/geheim"
    assert "geheim" not in json.dumps(told)
    (one,) = told["test"]
    assert one["ok"]
    urls = box.state / "alert_urls"
    assert urls.read_text() == f"{secret(phone)}\n"
    assert stat.S_IMODE(urls.stat().st_mode) == 0o600
    assert (box.root / "copies").is_dir()
    assert box.config.read_text() == f'[mirror]\nto = "{box.root}/copies"\n'
    assert told["boot"]["state"] == "left"
    assert told["daemon"]["pid"] == box.pid()
    assert any("same file system" in words for words in told["warnings"])
    assert told["next"][0] == "middlewatch watch"


def test_again_it_changes_only_what_is_answered(box: Box, phone: Receiver) -> None:
    box.config.parent.mkdir()
    before = '# my box\n[alerts]\nhost = "box3" # short\n\n[mirror] # the NAS\nbest_only = true\n'
    box.config.write_text(before)
    box.asks("--alert", "-", "--no-mirror", "--no-boot", text=secret(phone))
    assert box.config.read_text() == before
    first = box.pid()
    told = box.asks("--yes", "--no-boot")
    assert (told["phone"]["added"], told["mirror"]["changed"]) == ([], False)
    assert box.pid() == first, "nothing changed: the daemon goes on"
    (box.root / "copies").mkdir()
    told = box.asks("--no-alert", "--mirror", "copies", "--no-boot")
    assert box.config.read_text() == before.replace("NAS\n", f'NAS\nto = "{box.root}/copies"\n')
    assert box.pid() != first, "the daemon reads its configuration at its start"
    told = box.asks("--no-alert", "--no-mirror", "--no-boot")
    assert box.config.read_text() == before.replace("NAS\n", 'NAS\nto = ""\n')
    assert told["mirror"] == {"to": None, "changed": True}
    assert [push.path for push in phone.got] == ["/geheim"] * 4


def test_the_url_of_the_shell_is_kept_for_later(box: Box, phone: Receiver) -> None:
    box.env["MIDDLEWATCH_ALERT_URLS"] = secret(phone)
    box.asks("--no-mirror", "--no-boot")
    del box.env["MIDDLEWATCH_ALERT_URLS"]
    box.say("stop")
    assert [one["ok"] for one in json.loads(box.say("alert", "test", "--json").stdout)] == [True]


def test_a_refused_push_is_exit_1_and_the_rest_is_set(box: Box, phone: Receiver) -> None:
    phone.status = 500
    done = box.say("setup", "--alert", "-", "--no-mirror", "--no-boot", text=secret(phone))
    assert done.returncode == 1
    assert "FAILED" in done.stdout
    assert "should ring" not in done.stdout
    assert "geheim" not in done.stdout + done.stderr
    assert (box.state / "alert_urls").read_text() == f"{secret(phone)}\n"


def test_a_made_topic_is_told_and_different_each_time(box: Box) -> None:
    topics = set()
    for _ in range(2):
        done = box.say("setup", "--ntfy", "--no-mirror", "--no-boot")
        assert done.returncode == 1, "ntfy.sh cannot be reached from a test"
        (topic,) = set(re.findall(r"mw(?:-[a-z2-9]{4}){4}", done.stdout))
        assert f"ntfys://ntfy.sh/{topic}\n" in (box.state / "alert_urls").read_text()
        topics.add(topic)
    assert len(topics) == 2
    told = box.say("setup", "--ntfy", "--no-mirror", "--no-boot", "--json").stdout
    assert re.search(r"mw(?:-[a-z2-9]{4}){4}", told) is None
    assert json.loads(told)["phone"]["file"] == str(box.state / "alert_urls")


@pytest.mark.parametrize(
    ("words", "text", "told"),
    [
        (("--alert", "-"), "foo://bar", "foo:// is of no service"),
        (("--alert", "-"), "123456:geheimes-token", "has no scheme"),
        (("--alert", "-"), "\n# nothing\n", "--alert gave no URL"),
        (("--alert", "nowhere"), "", "there is no file nowhere"),
        (("--no-alert", "--mirror", "nowhere"), "", "add --yes"),
        (("--no-alert", "--mirror", "file"), "", "is not a folder"),
        (("--no-alert", "--mirror", "/proc/nowhere", "--yes"), "", "cannot be made"),
        (("--no-alert", "--mirror", ""), "", "no destination is given"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_a_wrong_answer_changes_nothing(
    box: Box, words: tuple[str, ...], text: str, told: str
) -> None:
    (box.root / "file").touch()
    rest = () if "--mirror" in words else ("--no-mirror",)
    done = box.say("setup", *words, *rest, "--no-boot", text=text)
    assert done.returncode == 2, done.stdout
    assert told in done.stderr
    assert "geheim" not in done.stderr
    assert not box.config.exists()
    assert not (box.state / "alert_urls").exists()


def test_a_file_that_others_may_read_gives_no_secrets(box: Box) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # the folders of pytest are closed
        Path(folder).chmod(0o755)
        urls = Path(folder, "urls")
        urls.write_text("json://127.0.0.1:1/geheim\n")
        urls.chmod(0o644)
        done = box.say("setup", "--alert", str(urls), "--no-mirror", "--no-boot")
        assert done.returncode == 2
        assert "chmod 600" in done.stderr
        assert "geheim" not in done.stderr


@pytest.mark.parametrize("text", ["[mirror\n", "[mirrr]\n", "[mirror]\nto = 5\n"])
def test_a_wrong_configuration_is_told_first_and_kept(box: Box, text: str) -> None:
    box.config.parent.mkdir()
    box.config.write_text(text)
    with_nobody = box.say("setup", "--ntfy", "--mirror", str(box.root), "--no-boot")
    assert with_nobody.returncode == 2
    assert str(box.config) in with_nobody.stderr
    status, shown = box.talk().ends()
    assert (status, "1/3" in shown) == (2, False)
    assert box.config.read_text() == text
    assert not box.state.exists()


@pytest.mark.parametrize("what", ["MIDDLEWATCH_CONFIG", "MIDDLEWATCH_STATE_DIR"])
def test_a_place_that_cannot_be_written_is_one_sentence(box: Box, what: str) -> None:
    box.env[what] = "/proc/nothing/here"
    done = box.say("setup", "--no-alert", "--mirror", str(box.root), "--no-boot")
    assert done.returncode == 2
    assert "/proc/nothing" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.system
def test_a_read_only_home_is_told_before_the_first_question(box: Box) -> None:
    apart = ["unshare", "--mount"]
    if subprocess.run([*apart, "true"], check=False, capture_output=True).returncode:
        pytest.skip("needs root for a mount of its own")
    box.config.parent.mkdir()
    script = 'mount -t tmpfs -o ro tmpfs "$0" && exec "$@"'
    talk = Talk([*apart, "sh", "-c", script, str(box.config.parent), *COMMAND, "setup"], {
        **box.env, "MIDDLEWATCH_STATE_DIR": str(box.config.parent / "state"),
    })  # fmt: skip
    status, shown = talk.ends()
    assert (status, "1/3" in shown) == (2, False), shown
    assert "may not be written to" in shown


# ------------------------------------------------------------------------ at a terminal


def test_a_person_answers_three_questions(box: Box, phone: Receiver) -> None:
    talk = box.talk()
    talk.asked("1/3 Who is called")
    talk.answers(("which [1]", "9"), ("a number from 1 to 3", "2"))
    talk.answers(("URL (is not shown)", "foo://geheim"))
    talk.asked("is of no service")
    talk.answers(("URL (is not shown)", secret(phone)))
    talk.answers(
        ("place [", "copies"), ("use it all the same? [y/N]", ""), ("then another", "copies")
    )
    talk.answers(("use it all the same?", "maybe"), ("y or n", "y"), ("make it? [Y/n]", ""))
    talk.answers(("start with the box?", "n"))
    status, shown = talk.ends()
    assert status == 0, shown
    assert "geheim" not in shown
    assert shown.index("delivered") < shown.index("your phone should ring now")
    assert "next: middlewatch watch" in shown
    assert [push.path for push in phone.got] == ["/geheim"]
    assert (box.root / "copies").is_dir()
    again = box.talk()
    again.answers(("1  as it is: json:// (", ""), (f"place [{box.root}/copies]", ""), ("box?", "n"))
    status, shown = again.ends()
    assert status == 0, shown
    assert len(phone.got) == 2


def test_a_made_topic_waits_until_it_is_subscribed_to(box: Box) -> None:
    talk = box.talk("--no-mirror", "--no-boot")
    talk.answers(("which [1]", ""), ("Enter when that is done", ""))
    status, shown = talk.ends()
    assert status == 1, "ntfy.sh cannot be reached from a test"
    assert "https://ntfy.sh/mw-" in shown


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D], ids=["Ctrl-C", "end of input"])
@pytest.mark.parametrize("reached", range(4))
def test_whoever_leaves_at_a_question_has_changed_nothing(box: Box, key: str, reached: int) -> None:
    talk = box.talk()
    way = [(ASKED[0], "2"), ("URL (", "json://127.0.0.1:9/"), (ASKED[1], "-"), (ASKED[2], "")]
    talk.answers(*way[:reached])
    talk.asked(way[reached][0])
    talk.types(key, enter=False)
    status, shown = talk.ends(press=key)
    assert status == (130 if key == CTRL_C else 2), shown
    assert "nothing was changed" in shown
    assert "Traceback" not in shown
    assert os.listdir(box.root) == []


# ------------------------------------------------------------------------ and watch

TRAIN = """
import itertools, time
for n in itertools.count(1):
    print(f"step {n}/9000 loss {3 - n / 9000:.4f}", flush=True)
    time.sleep(0.2)
"""
QUIET = ("--no-alert", "--no-mirror", "--no-boot")


def test_with_watch_it_finds_what_trains_already(box: Box) -> None:
    box.env["PATH"] = os.defpath  # where this installation is not
    script, log = box.root / "train_own.py", box.root / "own.log"
    script.write_text(TRAIN)
    with log.open("wb") as out, box_wide.searching():
        training = subprocess.Popen([sys.executable, str(script)], stdout=out, cwd=box.root)
        try:
            deadline = time.monotonic() + 120
            while log.stat().st_size == 0:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            told = box.asks(*QUIET, "--watch")
            mine = [run for run in told["runs"] if str(log) in run["logs"]]
            assert [(run["name"], run["new"]) for run in mine] == [("train_own", True)]
            again = box.say("setup", *QUIET, "--watch")
            assert again.returncode == 0
            assert re.search(
                r"^  runs .*train_own.*; new ones are found as they come$",
                again.stdout,
                re.MULTILINE,
            )
            assert "next: middlewatch tui" in again.stdout
            assert "export PATH=" in again.stdout
        finally:
            training.kill()
            training.wait()
            box.say("watch", "--once", "--json")


def test_without_watch_nothing_is_looked_for(box: Box) -> None:
    assert box.asks(*QUIET)["runs"] is None
    assert "next: middlewatch watch" in box.say("setup", *QUIET).stdout
