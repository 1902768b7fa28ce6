"""Slurm, driven by its own clients: sbatch, scontrol, squeue, scancel; sinfo and sacct where they answer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..jobs.artefact import Artefact
from ..system.errors import MiddlewatchError, UsageError
from . import slurm_words
from .engine import Begun, Standing, State

ASK_S = 60.0
"""Seconds that a client of Slurm is waited for. Our choice: a busy controller answers within its
MessageTimeout, 10 s by itself, and is asked again by the client."""
_SUBMITTED = re.compile(r"^(\d+)(?:;\S+)?$", re.MULTILINE)
_ID = re.compile(r"\d+(?:_\d+)?(?:,\d+(?:_\d+)?)*")
_DIRECTIVE = re.compile(
    r'^#SBATCH --(chdir|output|array)=(?:"((?:[^"\\]|\\.)*)"|(\S+))', re.MULTILINE
)
_NO_NODE = "Requested node configuration is not available"
_KEPT = ("SLURM_CONF", "SLURM_TIME_FORMAT", "SLURM_CLUSTERS")
_SACCT = (
    "JobID",
    "State",
    "ExitCode",
    "MaxRSS",
    "ReqMem",
    "Elapsed",
    "Timelimit",
    "NodeList",
    "Reason",
)
_ORDER: Sequence[Standing] = ("running", "waiting", "failed", "stopped", "unknown", "finished")


@dataclass(frozen=True)
class _Said:
    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """What it complained of, on one line."""
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return "; ".join(line.strip() for line in lines[-3:]) or f"exit status {self.code}"


class Driver:
    """Drives Slurm. Ids are its job ids; of a job with phases all of them, with commas."""

    def missing(self) -> tuple[str, str]:
        """Why jobs cannot be given to Slurm here, and what to do."""
        lacking = [
            name for name in ("sbatch", "scontrol", "squeue", "scancel") if not shutil.which(name)
        ]
        if lacking:
            return (
                f"{', '.join(lacking)}: there is no such program here",
                "on a login node of the cluster, middlewatch launch finds it; --print shows the file anywhere",
            )
        said = _ask("scontrol", "ping")
        if said.code or "UP" not in said.out:
            return f"the controller of Slurm does not answer: {said.words}", "try: scontrol ping"
        return "", ""

    def start(self, artefact: Artefact, folder: Path) -> Begun:
        """Ask Slurm whether it would take the job, and submit it."""
        files = [name for name in artefact.files if name.endswith(".sbatch")]
        expected = [self._tried(name, folder) for name in files]
        ids: list[str] = []
        for words in artefact.commands:
            said = _ask(*words, cwd=folder)
            ids += _SUBMITTED.findall(said.out)
            if said.code or not ids:
                taken = f"; submitted already: {', '.join(ids)}" if ids else ""
                hint = (
                    f"to take them back: scancel {' '.join(ids)}"
                    if ids
                    else "sinfo shows the partitions"
                )
                raise MiddlewatchError(f"Slurm did not take the job: {said.words}{taken}", hint)
        return Begun(
            id=",".join(ids),
            log=_log_of(artefact.files[files[0]], ids[0], str(folder)) if files else "",
            look=f"squeue -j {','.join(ids)}",
            end=f"scancel {' '.join(ids)}",
            details={"jobs": dict(zip(files, ids, strict=False)), "expected": expected},
        )

    def _tried(self, name: str, folder: Path) -> str:
        """When Slurm would start this file; raises UsageError if it would never take it.

        While nodes are down it is refused for that as well: then it is left to the submission.
        """
        said = _ask("sbatch", "--test-only", name, cwd=folder)
        if said.code:
            troubles = "; ".join(self.nodes())
            if troubles and _NO_NODE in said.words:
                return troubles
            raise UsageError(
                f"Slurm would not take {name}: {said.words}",
                "look at [slurm] and [job] in the job file; what there is: sinfo -N -l",
            )
        return said.words.removeprefix("sbatch: ")

    def state(self, job_id: str) -> State:
        """State, reason in words, nodes, time left and memory; of several jobs the one that matters most."""
        _check(job_id)
        parts = [part for one in job_id.split(",") for part in self._parts(one)]
        if not parts:
            return State(
                "unknown",
                "Slurm does not know it any more (it forgets a job some minutes after its end), and there is "
                "no accounting: its log says how it ended",
            )
        chosen = min(parts, key=lambda part: _ORDER.index(part.standing))
        if len(parts) == 1:
            return chosen
        shown = {
            str(part.details["job"]): {"standing": part.standing, "reason": part.reason}
            for part in parts
        }
        return State(
            chosen.standing, chosen.reason, chosen.exit_code, {**chosen.details, "parts": shown}
        )

    def _parts(self, one: str) -> list[State]:
        said = _ask("scontrol", "--oneliner", "--details", "show", "job", one)
        jobs = [slurm_words.fields(line) for line in said.out.splitlines() if "JobId=" in line]
        accounted = self._accounted(one)
        if not jobs:
            jobs = [job for job in accounted.values() if "_" in one or job["JobId"] == one] or [
                *accounted.values()
            ]
        return [self._state({**accounted.get(_number(job), {}), **job}) for job in jobs]

    def _accounted(self, one: str) -> dict[str, dict[str, str]]:
        """What the accounting says, by job; nothing where there is none."""
        if not shutil.which("sacct"):
            return {}
        said = _ask("sacct", "-j", one, "-n", "-P", "-o", ",".join(_SACCT))
        if said.code:
            return {}
        found: dict[str, dict[str, str]] = {}
        for line in said.out.splitlines():
            row = dict(zip(_SACCT, line.split("|"), strict=False))
            number, _, step = row.get("JobID", "").partition(".")
            if not number:
                continue
            if not step:
                found[number] = {
                    **{key: value for key, value in row.items() if value},
                    "JobId": number,
                    "JobState": row.get("State", ""),
                    "TimeLimit": row.get("Timelimit", ""),
                    "RunTime": row.get("Elapsed", ""),
                }
            elif number in found:  # memory is told of steps; the largest counts
                rss = [
                    slurm_words.size(word) or 0
                    for word in (row.get("MaxRSS", ""), found[number].get("MaxRSS", ""))
                ]
                found[number]["MaxRSS"] = str(max(rss)) if max(rss) else ""
        return found

    def _state(self, job: Mapping[str, str]) -> State:
        standing = slurm_words.standing(job.get("JobState", ""))
        reason, details = slurm_words.reason(job), _details(job)
        code, _ = slurm_words.exit_of(job)
        if standing == "running":
            details["memory_most_bytes"] = self._used(_number(job))
        if standing == "waiting":
            troubles = self.nodes()
            if troubles and job.get("Reason") not in ("Dependency", "DependencyNeverSatisfied"):
                details["nodes_in_trouble"] = troubles
        over = standing not in ("running", "waiting")
        return State(standing, reason, code if over else None, details)

    def _used(self, number: str) -> int | None:
        """The most memory that a task of it was seen to use; None where it is not measured."""
        if not shutil.which("sstat"):
            return None
        said = _ask("sstat", "-j", number, "-a", "-n", "-P", "-o", "MaxRSS")
        sizes = [slurm_words.size(line.strip()) or 0 for line in said.out.splitlines()]
        return max(sizes, default=0) or None

    def nodes(self) -> list[str]:
        """Sentences about nodes that take no jobs, with what an administrator types."""
        if not shutil.which("sinfo"):
            return []
        return [*slurm_words.nodes_in_trouble(_ask("sinfo", "-h", "-N", "-o", "%N|%T|%E").out)]

    def end(self, job_id: str) -> None:
        """``scancel``: the training gets SIGTERM, and SIGKILL some 30 s later (KillWait)."""
        _check(job_id)
        said = _ask("scancel", *job_id.split(","))
        if said.code:
            raise MiddlewatchError(
                f"scancel {job_id} failed: {said.words}", "whose job it is: squeue -o '%i %u %T'"
            )


def _check(job_id: str) -> None:
    if not _ID.fullmatch(job_id):
        raise UsageError(f"{job_id!r} is no id of a Slurm job", "like 123, 123_4 or 123,124")


def _number(job: Mapping[str, str]) -> str:
    """``123``, or ``123_4`` for an element of an array."""
    array, task = job.get("ArrayJobId", ""), job.get("ArrayTaskId", "")
    return f"{array}_{task}" if array and task else job.get("JobId", "")


def _details(job: Mapping[str, str]) -> dict[str, Any]:
    limit, ran = (slurm_words.seconds(job.get(key, "")) for key in ("TimeLimit", "RunTime"))
    left = None if limit is None or ran is None else max(0.0, limit - ran)
    nodes = job.get("NodeList", "")
    return {
        "job": _number(job),
        "state": job.get("JobState", ""),
        "nodes": "" if nodes in ("(null)", "None assigned") else nodes,
        "ran_s": ran,
        "time_left_s": left,
        "restarts": int(job.get("Restarts", "0") or 0),
        "memory_asked_bytes": slurm_words.asked_bytes(job),
        "memory_most_bytes": slurm_words.size(job.get("MaxRSS", "")),
    }


def _log_of(text: str, job: str, folder: str) -> str:
    """The file of the output, by the directives of a file for sbatch; ``*`` for the index in an array."""
    found = {
        key: re.sub(r"\\(.)", r"\1", quoted) or plain
        for key, quoted, plain in _DIRECTIVE.findall(text)
    }
    output = found.get("output", "slurm-%j.out")
    for pattern, value in (("%j", job), ("%A", job), ("%a", "*")):
        output = output.replace(pattern, value)
    return str(Path(found.get("chdir", folder), output))


def _ask(*words: str, cwd: Path | None = None) -> _Said:
    """Run a client, and wait for it. Raises MiddlewatchError when it does not answer.

    What an allocation around us has set does not go into a job of its own.
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith("SLURM_") or k in _KEPT}
    try:
        done = subprocess.run(
            list(words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=cwd,
            env=env,
            timeout=ASK_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise MiddlewatchError(
            f"{words[0]} did not answer within {ASK_S:.0f} s",
            "the controller may be overloaded: scontrol ping",
        ) from error
    except OSError as error:
        raise MiddlewatchError(
            f"cannot run {words[0]}: {error.strerror}", "is Slurm installed here?"
        ) from error
    return _Said(
        done.returncode,
        done.stdout.decode("utf-8", "replace"),
        done.stderr.decode("utf-8", "replace"),
    )
