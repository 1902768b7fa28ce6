"""The page of every class: whole, safe to follow half asleep, and about something that exists.

One case a rule: a failure lists every offender.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.config.secrets import mask
from middlewatch.daemon.parsers.signatures import SIGNATURES
from middlewatch.daemon.service import meter
from middlewatch.sentinels.handbook import TOPICS, page, pages
from middlewatch.sentinels.kit import discover, handbook
from middlewatch.sentinels.kit.classes import ROWS
from middlewatch.sentinels.kit.handbook import CLASS_LABELS, HandbookPage

FOLDER = Path(__file__).resolve().parents[2] / "sentinels" / "handbook"
PAGES = pages()
RULES = handbook()
TOLD = {s.trouble for s in SIGNATURES} | {c for rule in RULES.values() for c in rule.classes}
TOLD |= set(meter.CLASSES)
"""Every class that a signature, a sentinel or the meter of the box can speak of."""

_LOOKING = """
    awk cat curl cut df dmesg du echo env file free grep head last ls lsblk lsof middlewatch
    nproc nvidia-smi ps py-spy python quota lfs readlink sacct sort squeue ss stat systemctl tail
    timeout bash top tr uniq uptime wc who
"""
LOOKING = frozenset(_LOOKING.split())
"""Programs that a check may use: they only look."""
SPECIAL = {
    "systemctl": {"is-active"},
    "middlewatch": {"audit", "platform", "runs", "status", "checkpoints", "incidents", "verify"},
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


def offenders(rule: Callable[[HandbookPage], Iterator[str]]) -> list[str]:
    """What a rule has to say against each page."""
    return [f"{name}: {wrong}" for name, entry in PAGES.items() for wrong in rule(entry)]


def lines_of(entry: HandbookPage) -> list[str]:
    return (FOLDER / f"{entry.name}.txt").read_text(encoding="utf-8").splitlines()


def test_every_class_that_can_be_told_has_a_page() -> None:
    assert sorted(TOLD - PAGES.keys()) == []


def test_every_page_is_of_a_class_that_can_be_told() -> None:
    assert sorted(PAGES.keys() - TOLD) == []


def test_every_class_has_a_page() -> None:
    assert sorted(ROWS.keys() ^ PAGES.keys()) == []


def test_every_part_is_there_and_says_something() -> None:
    assert offenders(missing_parts) == []


def missing_parts(entry: HandbookPage) -> Iterator[str]:
    optional = {"Sources"}
    if lacking := set(CLASS_LABELS) - optional - set(entry.sections):
        yield f"lacks {sorted(lacking)}"
    if unknown := set(entry.sections) - set(CLASS_LABELS):
        yield f"has {sorted(unknown)}"
    yield from (f"{label} is empty" for label, text in entry.sections.items() if not text)
    if not re.fullmatch(r"\S.*\.", entry.title) or len(entry.title) >= 100:
        yield f"its title is not one short sentence: {entry.title}"
    if entry.sections["Topic"] not in TOPICS:
        yield f"no such topic: {entry.sections['Topic']}"
    for label in ("Symptom", "Cause", "Not"):
        if not re.search(r"[.!?…\"]$", entry.sections[label]):
            yield f"{label} ends in the middle of a sentence"


def test_the_parts_come_in_their_order() -> None:
    assert offenders(parts_out_of_order) == []


def parts_out_of_order(entry: HandbookPage) -> Iterator[str]:
    found = re.findall(r"^([A-Z]\w+):", "\n".join(lines_of(entry)), re.MULTILINE)
    order = [*CLASS_LABELS[:7], "Sources", "See"]
    if found != sorted(found, key=order.index):
        yield f"{found}"


def test_the_page_is_short_and_narrow() -> None:
    assert offenders(misshapen) == []


def misshapen(entry: HandbookPage) -> Iterator[str]:
    lines = lines_of(entry)
    if not 12 <= len(lines) <= 45:
        yield f"{len(lines)} lines"
    for number, line in enumerate(lines, 1):
        if len(line) > 100:
            yield f"line {number} is too wide"
        if line != line.rstrip() or "\t" in line:
            yield f"line {number} has blanks at its end, or a tab"


def test_the_ladder_begins_with_what_costs_nothing() -> None:
    assert offenders(bad_ladder) == []


def bad_ladder(entry: HandbookPage) -> Iterator[str]:
    if len(entry.steps) < 2:
        yield "a single step"
    if not entry.first_step.safe:
        yield "the first step is costly"
    if len(entry.first_step.text) > 300:
        yield "the first step is too long: a push shows it whole"
    if mask(entry.first_step.text) != entry.first_step.text:
        yield "the first step looks like a secret"
    numbers = re.findall(r"^(\d+)\. \[", entry.sections["Remedy"], re.MULTILINE)
    if numbers != [str(n) for n in range(1, len(entry.steps) + 1)]:
        yield f"steps are numbered {numbers}"
    if entry.sections["Remedy"].count("[safe]") != sum(s.safe for s in entry.steps):
        yield "[safe] in the middle of a step"


def test_a_safe_step_ends_nothing_and_removes_nothing() -> None:
    assert offenders(unsafe_steps) == []


def unsafe_steps(entry: HandbookPage) -> Iterator[str]:
    ending = re.compile(
        r"^(?:end|kill|remove|delete|restart|resume|move|reset|leave the box)\b", re.IGNORECASE
    )
    yield from (s.text for s in entry.steps if s.safe and ending.search(s.text))


def test_it_says_at_once_whether_to_try_again() -> None:
    assert [n for n, e in PAGES.items() if not e.retry] == []
    brief = [n for n, e in PAGES.items() if len(e.sections["Retry"].split()) < 4]
    assert brief == [], "and why"


def test_its_relatives_have_pages() -> None:
    assert offenders(strange_relatives) == []


def strange_relatives(entry: HandbookPage) -> Iterator[str]:
    see = entry.words("See")
    if not see or len(set(see)) != len(see):
        yield f"See: {see}"
    yield from (f"See: {name}" for name in set(see) - (PAGES.keys() - {entry.name}))


def test_checks_only_look() -> None:
    assert offenders(meddling_checks) == []


def meddling_checks(entry: HandbookPage) -> Iterator[str]:
    commands = [c.command for c in entry.checks if c.command]
    if not commands:
        yield "no command"
    yield from (f"what does its answer mean? {c}" for c in entry.checks if not c.expect)
    for command in commands:
        quiet = command.replace("2>/dev/null", "").replace("-o /dev/null", "")
        bare = QUOTED.sub("Q", quiet)
        if ">" in bare or re.search(r"[;`&]|\$\(", bare.replace("&&", "")):
            yield f"more than commands and pipes: {command}"
        if changing := CHANGING.search(bare):
            yield f"{changing[0]} changes something: {command}"
        for part in re.split(r"\|\|?|&&", bare):
            words = shlex.split(part)
            while words and (words[0] == "timeout" or re.fullmatch(r"\d+|-c", words[0])):
                words.pop(0)
            allowed = SPECIAL.get(words[0])
            if words[0] not in LOOKING or (
                allowed is not None and words[1].split("=")[0] not in allowed
            ):
                yield f"{' '.join(words[:2])} is not known to only look: {command}"
    for shell in re.findall(r"(?:bash|python) -c ('[^']*'|\"[^\"]*\")", " ".join(commands)):
        if CHANGING.search(shell) or re.search(r"write|remove|system\(|exec|Popen", shell):
            yield f"does more than look: {shell}"


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


def test_checks_of_a_log_work(tmp_path: Path) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash on this box")
    assert [w for name in READS_A_LOG for w in failing_checks(name, tmp_path)] == []


def failing_checks(name: str, folder: Path) -> Iterator[str]:
    """What goes wrong when the checks of a class are typed beside a log."""
    text = f"INFO epoch 0\n{INNOCENT.get(name, '')}\n{SHOWN.get(name, '')}\n"
    (folder / "LOG").write_text(text, encoding="utf-8")
    for number, command in enumerate(READS_A_LOG[name]):
        asked = ["bash", "-o", "pipefail", "-c", command]
        done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1) or done.stderr:
            yield f"{name}: {command}: {done.stderr}"
        if name in SHOWN and number == 0 and not done.stdout.strip():
            yield f"{name}: {command}: does not find {SHOWN[name]}"
        if number == 0 and INNOCENT.get(name, "nothing") in done.stdout:
            yield f"{name}: {command}: finds {INNOCENT.get(name, 'nothing')}"


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


def test_what_is_no_class_has_no_page() -> None:
    strange = ["", "..", "a_class_of_tomorrow", "../kit/__init__", "hang.txt", "Hang", "hang\n"]
    strange += ["/etc/passwd", "x" * 300]
    assert [name for name in strange if page(name) is not None] == []


def test_the_folder_of_pages_is_no_sentinel() -> None:
    assert "handbook" not in discover()
