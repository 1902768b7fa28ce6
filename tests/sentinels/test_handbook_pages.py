"""The page of every class: whole, safe to follow half asleep, and about something that exists."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from middlewatch.daemon.config.secrets import mask
from middlewatch.daemon.parsers.signatures import SIGNATURES
from middlewatch.sentinels.handbook import TOPICS, page, pages
from middlewatch.sentinels.kit import discover, handbook
from middlewatch.sentinels.kit.classes import ROWS
from middlewatch.sentinels.kit.handbook import CLASS_LABELS, Entry

FOLDER = Path(__file__).resolve().parents[2] / "sentinels" / "handbook"
PAGES = pages()
RULES = handbook()
TOLD = {s.trouble for s in SIGNATURES} | {c for rule in RULES.values() for c in rule.classes}
"""Every class that a signature or a sentinel can speak of."""

_LOOKING = """
    awk cat curl cut df dmesg du echo env file free grep head last ls lsblk lsof middlewatch
    nproc nvidia-smi ps py-spy python quota lfs readlink sacct sort squeue ss stat systemctl tail
    timeout bash top tr uniq uptime wc who
"""
LOOKING = frozenset(_LOOKING.split())
"""Programs that a check may use: they only look."""
SPECIAL = {
    "systemctl": {"is-active"},
    "middlewatch": {"audit", "status", "checkpoints", "incidents", "verify"},
    "py-spy": {"dump"},
    "lfs": {"quota"},
    "python": {"-c"},
    "bash": {"-c"},
    "nvidia-smi": {"-q", "-L", "dmon", "--query-gpu", "--query-compute-apps"},
}
"""Programs that can do more, and the words after which they only look."""
CHANGING = re.compile(
    r"\b(?:rm|rmdir|unlink|kill|pkill|killall|mv|cp|dd|mkfs\S*|mount|umount|remount|fsck|tee|chmod"
    r"|chown|ln|truncate|shred|touch|mkdir|apt|apt-get|pip|install|reboot|shutdown|poweroff|halt"
    r"|restart|start|stop|reset|requeue|scancel|sbatch|scontrol|sudo|docker|kubectl|setsid"
    r"|sed|xargs)\b|--gpu-reset|(?<!\w)-r(?= |$)|-delete\b|-exec\b"
    r"|--lock|(?<![\w.])-(?:pm|pl|ac|lgc|rgc)\b"
)
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")

every = pytest.mark.parametrize("entry", PAGES.values(), ids=PAGES.keys())


def test_every_class_that_can_be_told_has_a_page() -> None:
    assert sorted(TOLD - PAGES.keys()) == []


def test_every_page_is_of_a_class_that_can_be_told() -> None:
    assert sorted(PAGES.keys() - TOLD) == []


def test_every_class_has_a_page() -> None:
    assert sorted(ROWS.keys() ^ PAGES.keys()) == []


@every
def test_every_part_is_there_and_says_something(entry: Entry) -> None:
    optional = {"Sources"}
    assert set(CLASS_LABELS) - optional <= set(entry.sections) <= set(CLASS_LABELS)
    assert all(entry.sections.values())
    assert re.fullmatch(r"\S.*\.", entry.title)
    assert len(entry.title) < 100
    assert entry.sections["Topic"] in TOPICS
    for label in ("Symptom", "Cause", "Not"):
        assert re.search(r"[.!?…\"]$", entry.sections[label]), label


@every
def test_the_parts_come_in_their_order(entry: Entry) -> None:
    text = (FOLDER / f"{entry.name}.txt").read_text(encoding="utf-8")
    found = re.findall(r"^([A-Z]\w+):", text, re.MULTILINE)
    assert found == sorted(found, key=[*CLASS_LABELS[:7], "Sources", "See"].index)


@every
def test_the_page_is_short_and_narrow(entry: Entry) -> None:
    lines = (FOLDER / f"{entry.name}.txt").read_text(encoding="utf-8").splitlines()
    assert max(map(len, lines)) <= 100
    assert 12 <= len(lines) <= 45
    assert [line for line in lines if line != line.rstrip() or "\t" in line] == []


@every
def test_the_ladder_begins_with_what_costs_nothing(entry: Entry) -> None:
    assert len(entry.steps) >= 2
    assert entry.first_step.safe
    assert len(entry.first_step.text) <= 300, "a push shows it whole"
    assert mask(entry.first_step.text) == entry.first_step.text
    numbers = re.findall(r"^(\d+)\. \[", entry.sections["Remedy"], re.MULTILINE)
    assert numbers == [str(n) for n in range(1, len(entry.steps) + 1)]
    assert entry.sections["Remedy"].count("[safe]") == sum(s.safe for s in entry.steps)


@every
def test_a_safe_step_ends_nothing_and_removes_nothing(entry: Entry) -> None:
    ending = re.compile(
        r"^(?:end|kill|remove|delete|restart|resume|move|reset|leave the box)\b", re.IGNORECASE
    )
    assert [s.text for s in entry.steps if s.safe and ending.search(s.text)] == []


@every
def test_it_says_at_once_whether_to_try_again(entry: Entry) -> None:
    assert entry.retry
    assert len(entry.sections["Retry"].split()) >= 4, "and why"


@every
def test_its_relatives_have_pages(entry: Entry) -> None:
    see = entry.words("See")
    assert see
    assert set(see) <= PAGES.keys() - {entry.name}
    assert len(set(see)) == len(see)


@every
def test_checks_only_look(entry: Entry) -> None:
    commands = [c.command for c in entry.checks if c.command]
    assert commands
    assert [c for c in entry.checks if not c.expect] == [], "what does its answer mean?"
    for command in commands:
        quiet = command.replace("2>/dev/null", "").replace("-o /dev/null", "")
        bare = QUOTED.sub("Q", quiet)
        assert ">" not in bare, command
        assert not re.search(r"[;`&]|\$\(", bare.replace("&&", "")), command
        assert not CHANGING.search(bare), command
        for part in re.split(r"\|\|?|&&", bare):
            words = shlex.split(part)
            while words and (words[0] == "timeout" or re.fullmatch(r"\d+|-c", words[0])):
                words.pop(0)
            assert words[0] in LOOKING, command
            allowed = SPECIAL.get(words[0])
            assert allowed is None or words[1].split("=")[0] in allowed, command
    for shell in re.findall(r"(?:bash|python) -c ('[^']*'|\"[^\"]*\")", " ".join(commands)):
        assert not CHANGING.search(shell)
        assert not re.search(r"write|remove|system\(|exec|Popen", shell)


READS_A_LOG = {
    name: [c.command for c in e.checks if re.search(r"\bLOG\b", c.command)]
    for name, e in PAGES.items()
}
SHOWN = {
    "loss_nan": "{'loss': nan, 'grad_norm': nan, 'learning_rate': 1e-05}",
    "loss_inf": " iteration 10/ 50 | lm loss: inf | loss scale: 1.0 |",
    "val_loss_nan": "step 500: train loss 2.1, val loss nan",
    "grad_nonfinite": "{'loss': 2.1, 'grad_norm': nan, 'learning_rate': 1e-05}",
    "loss_zero": "{'loss': 0.0, 'grad_norm': 0.0}",
    "loss_constant": "step 7 | loss 2.3026 | lr 0",
    "loss_plateau": "step 7 | loss 2.3026 | lr 3.0e-06",
    "lr_zero": "{'loss': 2.1, 'learning_rate': 0.0}",
    "loss_reset": "Training from scratch: no checkpoint in out/",
    "grad_spike": "step 7 | loss 2.3 | grad_norm: 913.1",
    "overflow_skip": "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536",
    "cuda_oom": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    "accel_oom": "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes",
    "nccl_timeout": "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600029 ms",
    "python_exception": "Traceback (most recent call last):",
    "ckpt_mismatch": "  size mismatch for lm_head.weight: copying a param with shape [7]",
    "checkpoint_stale": "Saving model checkpoint to out/checkpoint-500",
}
"""A line that the first such command of the page finds."""
INNOCENT = {
    "loss_nan": "loss 2.31 nanogpt",
    "loss_inf": "loss 2.31 INFO done",
    "grad_nonfinite": "grad_norm 1.2 info",
    "loss_zero": "loss: 10.0, val_loss: 0.001",
}
"""A line that it does not."""


@pytest.mark.parametrize("name", [name for name, commands in READS_A_LOG.items() if commands])
def test_checks_of_a_log_work(name: str, tmp_path: Path) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash on this box")
    text = f"INFO epoch 0\n{INNOCENT.get(name, '')}\n{SHOWN.get(name, '')}\n"
    (tmp_path / "LOG").write_text(text, encoding="utf-8")
    for number, command in enumerate(READS_A_LOG[name]):
        asked = ["bash", "-o", "pipefail", "-c", command]
        done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        assert done.stderr == ""
        if name in SHOWN and number == 0:
            assert done.stdout.strip(), command
        if number == 0:
            assert INNOCENT.get(name, "nothing") not in done.stdout


def test_every_check_can_be_typed() -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash on this box")
    script = "\n".join(c.command for e in PAGES.values() for c in e.checks)
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_two_classes_say_the_same() -> None:
    for label in ("Symptom", "Cause", "Remedy"):
        told = [e.sections[label] for e in PAGES.values()]
        assert len(set(told)) == len(told), label
    titles = [e.title for e in PAGES.values()]
    assert len(set(titles)) == len(titles)


def test_pages_come_topic_by_topic() -> None:
    ranks = [TOPICS.index(e.sections["Topic"]) for e in PAGES.values()]
    assert ranks == sorted(ranks)
    assert set(ranks) == set(range(len(TOPICS)))


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        "a_class_of_tomorrow",
        "../kit/__init__",
        "hang.txt",
        "Hang",
        "hang\n",
        "/etc/passwd",
        "x" * 300,
    ],
)
def test_what_is_no_class_has_no_page(name: str) -> None:
    assert page(name) is None


def test_the_folder_of_pages_is_no_sentinel() -> None:
    assert "handbook" not in discover()
