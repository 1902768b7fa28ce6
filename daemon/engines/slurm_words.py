"""What Slurm says of a job, in plain words. Pure: texts of its clients come in.

States and reasons: https://slurm.schedmd.com/squeue.html, https://slurm.schedmd.com/job_reason_codes.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .engine import Standing

_FIELD = re.compile(r"(?:^|\s)([A-Z][\w:/]*)=")
_DURATION = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?")
_SIZE = re.compile(r"([\d.]+)([KMGTP]?)[cn]?")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
OOM_RATIO = 1.2
"""Memory to ask for after an out-of-memory kill, against the largest that was seen: what is sampled every
30 s misses the last peak. Our choice."""
_OOM_SIGNAL = "125"
"""The number that Slurm gives an out-of-memory kill among the signals (slurm.h, SIG_OOM)."""

_STANDINGS: Mapping[str, Standing] = {
    **dict.fromkeys(
        ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "SUSPENDED", "SPECIAL_EXIT"),
        "waiting",
    ),
    **dict.fromkeys(("RUNNING", "COMPLETING", "SIGNALING", "STAGE_OUT", "STOPPED"), "running"),
    "COMPLETED": "finished",
    **dict.fromkeys(("FAILED", "OUT_OF_MEMORY", "BOOT_FAIL"), "failed"),
    **dict.fromkeys(
        ("CANCELLED", "TIMEOUT", "DEADLINE", "PREEMPTED", "NODE_FAIL", "REVOKED"), "stopped"
    ),
}
_REASONS = {
    "Priority": "other jobs come first",
    "Resources": "it waits for room on the nodes",
    "Dependency": "it waits for another job",
    "DependencyNeverSatisfied": "it waits for ever",
    "BeginTime": "it may not begin before its time; after it is requeued Slurm waits two minutes",
    "JobArrayTaskLimit": "as many elements of the array as may run at once do so",
    "JobHeldUser": "you hold it: scontrol release ID",
    "JobHeldAdmin": "an administrator holds it: ask why",
    "PartitionTimeLimit": "it asks for more time than the partition gives",
    "PartitionNodeLimit": "it asks for more nodes than the partition gives",
    "PartitionDown": "the partition takes jobs, and starts none",
    "PartitionInactive": "the partition takes no jobs",
    "ReqNodeNotAvail": "nodes that it needs are down, drained or reserved",
    "NodeDown": "a node that it needs is down",
    "BadConstraints": "no node is as it asks for: look at constraint, gpus and memory",
    "Licenses": "it waits for a licence",
    "Reservation": "it waits for its reservation",
    "InvalidAccount": "its account is not valid: sacctmgr show associations user=$USER",
    "InvalidQOS": "its QOS is not valid: sacctmgr show qos",
    "launch_failed_requeued_held": "its start failed, and Slurm holds it: scontrol release ID",
    "JobLaunchFailure": "its start failed on the node: the log of slurmd there says why",
    "NonZeroExitCode": "it ended with a status other than 0",
    "RaisedSignal:9(Killed)": "a signal killed it",
    "TimeLimit": "it reached its time limit",
    "OutOfMemory": "it needed more memory than it had asked for",
}


def fields(line: str) -> dict[str, str]:
    """A line of ``scontrol --oneliner show`` as a mapping; of a key that comes twice the first counts."""
    found: dict[str, str] = {}
    places = [*_FIELD.finditer(line)]
    for number, place in enumerate(places):
        end = places[number + 1].start() if number + 1 < len(places) else len(line)
        found.setdefault(place[1], line[place.end() : end].strip())
    return found


def standing(state: str) -> Standing:
    """Where a job of this state stands; ``CANCELLED by 1000`` is a state, too."""
    return _STANDINGS.get(state.partition(" ")[0].rstrip("+"), "unknown")


def reason(job: Mapping[str, str]) -> str:
    """One or two sentences about the state of a job. ``job``: from :func:`fields`."""
    state, code = job.get("JobState", "").partition(" ")[0], job.get("Reason", "").strip("()")
    if code == "DependencyNeverSatisfied":
        return _never(job, ended=state == "CANCELLED")
    if out_of_memory(job):
        return _out_of_memory(job)
    if state == "TIMEOUT":
        return f"it reached its time limit of {job.get('TimeLimit', 'unknown length')}"
    if state == "CANCELLED":
        return "it was cancelled: a person typed scancel, or Slurm took it out of the queue"
    if state == "PREEMPTED":
        return "a job that goes before it took its place"
    if state == "NODE_FAIL":
        return f"a node failed: {job.get('NodeList', '')}"
    if state == "FAILED":
        return _failed(job)
    if state == "COMPLETED":
        return ""
    said = _REASONS.get(code, "")
    if not said and code.startswith(("QOS", "Assoc")):
        said = "a limit of its QOS or account holds it back"
    if code in ("", "None"):
        return ""
    if code == "Dependency" and job.get("Dependency", "") not in ("", "(null)"):
        said = f"it waits for {job['Dependency']}"
    return f"{said} ({code})" if said else code


def out_of_memory(job: Mapping[str, str]) -> bool:
    """True also where only a step was killed for memory: the script of the job ends as it likes then."""
    killed = job.get("DerivedExitCode", "").partition(":")[2] == _OOM_SIGNAL
    return job.get("JobState", "").startswith("OUT_OF_MEMORY") or (
        killed and standing(job.get("JobState", "")) == "failed"
    )


def _never(job: Mapping[str, str], *, ended: bool) -> str:
    what = job.get("Dependency", "")
    before = f"what it had to come after will never be ({what})"
    if ended:
        return f"{before}, so Slurm took it out of the queue"
    number = job.get("JobId", "ID")
    return f"it waits for ever: {before}; end it: scancel {number}"


def _failed(job: Mapping[str, str]) -> str:
    code, signal = exit_of(job)
    if signal:
        return f"signal {signal} ended it"
    return "" if code is None else f"it ended with exit status {code}"


def _out_of_memory(job: Mapping[str, str]) -> str:
    asked, most = asked_bytes(job), size(job.get("MaxRSS", ""))
    said = "it needed more memory than it had asked for"
    if asked:
        said += f" ({_mib(asked)})"
    ask = f"--mem={_mib(int(OOM_RATIO * (most or asked or 0)))}"
    if most:
        return f"{said}; the most that was seen is {_mib(most)}: ask for {OOM_RATIO:g} times that, {ask}"
    if asked:
        return (
            f"{said}; how much is not known without accounting: try {OOM_RATIO:g} times that, {ask}"
        )
    return said


def asked_bytes(job: Mapping[str, str]) -> int | None:
    """Memory that a job asked for on all of its nodes, or on each where only that is told."""
    for word in job.get("TRES", "").split(","):
        if word.startswith("mem="):
            return size(word[4:])
    return size(job.get("ReqMem", "") or job.get("MinMemoryNode", ""))


def exit_of(job: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Exit status and signal of ``ExitCode=3:0``."""
    code, _, signal = job.get("ExitCode", "").partition(":")
    return (int(code) if code.isdigit() else None), (int(signal) if signal.isdigit() else None)


def size(text: str) -> int | None:
    """Bytes of ``200M``, ``1.5G``, ``81234K``; None for other words."""
    found = _SIZE.fullmatch(text)
    return int(float(found[1]) * _UNITS[found[2]]) if found else None


def _mib(number: int) -> str:
    return f"{-(-number // (1 << 20))}M"


def seconds(text: str) -> float | None:
    """Seconds of ``1-02:03:04`` or ``03:04``; None for ``UNLIMITED`` and other words."""
    found = _DURATION.fullmatch(text)
    if not found:
        return None
    days, hours, minutes, rest = (int(word or 0) for word in found.groups())
    return days * 86400.0 + hours * 3600 + minutes * 60 + rest


def nodes_in_trouble(text: str) -> Iterator[str]:
    """Sentences about nodes that take no jobs, from lines ``NAME|STATE|REASON`` of ``sinfo``.

    The command is for an administrator: it is shown, never run.
    """
    seen = set[str]()
    for line in text.splitlines():
        name, _, rest = line.partition("|")
        state, _, why = rest.partition("|")
        plain = state.rstrip("*~#!%$@^-").lower()
        if name in seen or not plain.startswith(("down", "drain", "fail", "inval", "unknown")):
            continue
        seen.add(name)
        silent = ", and does not answer" if "*" in state else ""
        because = f": {why.strip()}" if why.strip() not in ("", "none") else ""
        yield (
            f"node {name} is {plain}{silent}{because}; once that is mended, an administrator types: "
            f"scontrol update NodeName={name} State=RESUME"
        )
