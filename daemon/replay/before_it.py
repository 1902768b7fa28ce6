"""What the lines before the end of a log prove about the reason that the end itself does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..parsers.last_words import RAN_OUT

_WARNED = re.compile(
    r"(?P<file>[\w./\\:~+-]{1,200}\.py):(?P<line>\d+): RuntimeWarning: (?P<what>(?:invalid value|divide by zero|overflow) encountered in \w+)"
)
_MEMORY = re.compile(
    r"(?i)(?<![a-z_])(?P<name>rss|ram|host[_ ]?mem\w*|cpu[_ ]?mem\w*|mem(?:ory)?(?:[_ ](?:used|usage|rss))?)(?= ?\w{0,16}[\s=:\"'(]{1,4}\d)"
)
_AMOUNT = re.compile(
    r"(?i) ?(?P<of>[a-z]\w{0,16})?[\s=:\"'(]{1,4}(?P<value>\d+(?:\.\d+)?) ?(?P<unit>[KMGT]i?B?)?\b"
)
"""After such a name: what it is of, if a word says it (``rss main 3.0 GB, workers 7.1 GB``), and how much."""
AMOUNTS = 4
"""Amounts of one line that are read."""
_ASIDE = re.compile(
    r"(?i)\b(?:eval\w*|valid\w*|test\w*|(?:save|saving)\w*|checkpoint\w*|upload\w*|generat\w*|tokeni\w*|download\w*|preprocess\w*|prepar\w*|index\w*)\b|验证|评估|保存"
)
"""Work that one rank often does while the others wait."""
_CLOCK = re.compile(r"(?<![\d:])([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?!\d)")
LONGEST_S = 6 * 3600
"""Seconds between two lines from which the times are those of bars, not of a clock (our choice)."""
SILENT_S, SILENCE = 20, 10
"""Seconds, and usual distances of lines, without a line before a Ctrl-C from which the silence is told (our choice)."""
_OF_GPU = re.compile(r"(?i)\b(?:gpu|cuda|vram)")
LEAST, GROWN = 6, 1.3
"""Readings of the memory that show a growth, and by how much the last one is more than the first. Our choice."""
RISING = 0.8
"""Part of the readings that are not below the one before."""
_UNITS = {"": 1.0, "k": 2.0**10, "m": 2.0**20, "g": 2.0**30, "t": 2.0**40}


NOTHING = ("", "")
_RATE = re.compile(
    r"(?i)(?<![a-z])(?:(?:base|max|peak|init\w*|head|actor|critic)[_ -]?)?(?:lr|learning[_ -]?rate)(?![a-z])"
    r"(?:['\"]?\s{0,3}[:=]\s{0,3}['\"]?(?P<rate>\d{1,6}(?:\.\d{1,12})?(?:e[-+]?\d{1,2})?)(?![\w.])"
    r"|.{0,40}?(?:->|→|to|up to)\s{0,3}(?P<peak>\d{1,6}(?:\.\d{1,12})?(?:e[-+]?\d{1,2})?)(?![\w.]))"
)
HIGH_RATE = 0.5
"""Learning rate from which the settings are named (our choice: SGD is used up to about 0.1, with large batches and
normalisation up to 1; Adam up to 0.01)."""


def before_it(
    trouble: str, line: int, tail: Sequence[tuple[int, str]], opening: str = ""
) -> tuple[str, str]:
    """(what the lines around the proof of this class show, the first step that follows); both empty for nothing.

    ``tail``: (number, text) of the last lines of the log; ``opening``: its first lines."""
    above = [text for number, text in tail if number < line]
    if trouble in ("loss_nan", "loss_inf", "grad_nonfinite", "loss_diverged"):
        found = _arithmetic(above)
        return found if any(found) else _high_rate(opening)
    if trouble == "interrupted":
        return _silence(line, tail)
    if trouble in ("nccl_timeout", "gloo_timeout"):
        late = _late_rank([text for _, text in tail])
        return late if any(late) else _still_at(above)
    if trouble in ("process_killed", "cgroup_oom_kill", "host_alloc_failed"):
        return _growth(above)
    return NOTHING


def _arithmetic(above: Sequence[str]) -> tuple[str, str]:
    """The first warning of NumPy about a result that is no number."""
    match = next((found for text in above if (found := _WARNED.search(text))), None)
    if match is None:
        return NOTHING
    step = (
        f"guard line {match['line']} of {match['file']}: NumPy said there `{match['what']}`, and what it gave there is the "
        "first that was no number (a division by 0, a logarithm of 0, a constant that is normalised)"
    )
    return f"{match['file']}:{match['line']}: {match['what']}", step


def _silence(line: int, tail: Sequence[tuple[int, str]]) -> tuple[str, str]:
    """That nothing had come for long when somebody stopped it, by the times in the lines."""
    timed = [
        (3600 * int(m[1]) + 60 * int(m[2]) + int(m[3]), text)
        for number, text in tail
        if number <= line and (m := _CLOCK.search(text))
    ]
    gaps = [(b - a) % 86400 for (a, _), (b, _) in pairwise(timed)]
    if (
        len(gaps) < LEAST
        or max(gaps) > LONGEST_S
        or gaps[-1] < max(SILENT_S, SILENCE * sorted(gaps)[len(gaps) // 2])
    ):
        return NOTHING
    last = timed[-2][1].strip()[:120]
    step = (
        f"look at what comes after `{last}` in the program: nothing came for {gaps[-1]} s when it was stopped. It waited for something, "
        "often a collective that only one rank calls, a lock, a queue or a file server; next time `py-spy dump --pid PID` of each process before it is stopped"
    )
    return f"nothing came for {gaps[-1]} s after: {last}", step


def _still_at(above: Sequence[str]) -> tuple[str, str]:
    """What one rank did, by the last line before the others gave up waiting for it."""
    begun = next(
        (n for n, text in enumerate(above) if "Traceback (most recent" in text), len(above)
    )
    last = next((text.strip()[:120] for text in reversed(above[:begun]) if text.strip()), "")
    if not _ASIDE.search(last):
        return NOTHING
    step = (
        f"see whether one rank was still at `{last}` when the others gave up: let all ranks share that work, make it shorter, or raise the timeout of "
        "`init_process_group` above its length"
    )
    return f"the last line was: {last}", step


def _high_rate(opening: str) -> tuple[str, str]:
    """A learning rate among the settings that is too high for most trainings."""
    rates = [float(m["rate"] or m["peak"]) for m in _RATE.finditer(opening)]
    if not rates or max(rates) < HIGH_RATE:
        return NOTHING
    rate = f"{max(rates):g}"
    step = (
        f"compare the learning rate, {rate} by the settings, with what others use for such a model: that is high for SGD and far too high for Adam. Train "
        "again with a tenth or a hundredth of it, with a warm-up and clipped gradients"
    )
    return f"the settings say a learning rate of {rate}", step


def _growth(above: Sequence[str]) -> tuple[str, str]:
    """That the memory, which the program itself reports, has grown all the time."""
    seen: dict[str, list[tuple[float, str]]] = {}
    for text in above:
        if _OF_GPU.search(text):
            continue
        for name, value, unit in _amounts(text):
            shown = f"{value} {unit}".strip()
            seen.setdefault(name, []).append((float(value) * _UNITS[unit[:1].lower()], shown))
    grown = []
    for name, values in seen.items():
        rises = sum(after >= before for (before, _), (after, _) in pairwise(values))
        steady = rises >= RISING * (len(values) - 1)
        if len(values) >= LEAST and steady and values[-1][0] >= GROWN * values[0][0] > 0:
            grown.append((values[-1][0] - values[0][0], name, values[0][1], values[-1][1]))
    if not grown:
        return NOTHING
    _, name, first, last = max(grown)
    grew = f"{name} rose from {first} to {last}"
    step = (
        f"stop the growth: {grew}. Usual reasons: results, tensors with their graphs (`.item()`, `.detach()`), lists and caches that "
        "nobody empties, data copied into each worker (fewer of them need less). Until it is found, ask for more memory, and save often. "
        "That it was killed for memory: `dmesg -T | grep -i 'killed process' | tail -3`, or `sacct -j JOBID -o MaxRSS,State`"
    )
    return grew, step


def _amounts(text: str) -> Iterator[tuple[str, str, str]]:
    """(of what, amount, unit) of the memory that a line reports."""
    match = _MEMORY.search(text)
    if match is None:
        return
    name, at = match["name"].lower(), match.end()
    for _ in range(AMOUNTS):
        amount = _AMOUNT.match(text, at)
        if amount is None:
            return
        of = amount["of"] or ""
        yield f"{name} {of}".strip(), amount["value"], amount["unit"] or ""
        at = amount.end()
        at += len(text[at:]) - len(text[at:].lstrip(",; |"))


_ENQUEUED = re.compile(
    r"(?i)\brank (?P<rank>\d{1,5})\].{0,300}?last enqueued (?:nccl )?work: (?P<last>\d+)"
)
"""What the watchdog of each rank writes (PyTorch, ``ProcessGroupNCCL.cpp``)."""


def _late_rank(lines: Sequence[str]) -> tuple[str, str]:
    """The rank that did not enter the collective that the others wait in, by the last work that each enqueued."""
    last: dict[int, int] = {}
    for text in lines:
        if match := _ENQUEUED.search(text):
            last.setdefault(int(match["rank"]), int(match["last"]))
    lowest, others = min(last.values(), default=0), max(last.values(), default=0)
    late = sorted(rank for rank, work in last.items() if work == lowest)
    if lowest == others or 2 * len(late) > len(last):
        return NOTHING
    ranks = f"rank {late[0]}" if len(late) == 1 else f"ranks {', '.join(map(str, late[:4]))}"
    step = (
        f"find what {ranks} did from then on, outside of the collective: its log up to the time-out, and its stack next time "
        "(`py-spy dump`, TORCH_NCCL_TRACE_BUFFER_SIZE=2000); usual reasons: data that came late or ran out there, a branch that only "
        "it took, a save, a full disk, a GPU that fell out (`dmesg`)"
    )
    return f"{ranks} enqueued no work after {lowest}, the others went on to {others}", step


ALIKE = 5
"""Last lines of a log that say the same, but for their numbers, from which they are told."""
_COMPLAINS = re.compile(
    r"(?i)\b(?:fail\w*|error|retry\w*|retrying|refused|timed? ?out|unreachable|unable|cannot|could not|waiting|denied)\b|失败|重试|等待|超时"
)


def alike(tail: Sequence[tuple[int, str]]) -> tuple[int, str]:
    """(how many, the last of them) of the lines with which a log ends that complain of the same; (0, "") for others."""
    texts = [text.strip() for _, text in tail if text.strip()]
    if not texts or not _COMPLAINS.search(texts[-1]):
        return 0, ""
    shape = re.sub(r"\d+(?:\.\d+)?", "0", texts[-1])
    count = 0
    for text in reversed(texts):
        if re.sub(r"\d+(?:\.\d+)?", "0", text) != shape:
            break
        count += 1
    return (count, texts[-1][:200]) if count >= ALIKE else (0, "")


def ran_out(tail: Sequence[tuple[int, str]]) -> tuple[int, str]:
    """(line, words) where a library says that the data ended before the plan; (0, "") if none does."""
    found = ((number, match) for number, text in tail if (match := RAN_OUT.search(text)))
    return next(
        ((number, match.string[match.start() :][:100].strip()) for number, match in found), (0, "")
    )
