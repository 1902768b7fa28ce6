"""The first step that fits the evidence, where the page of a class knows only the usual one."""

from __future__ import annotations

import re
import signal as signals
from collections.abc import Mapping
from types import MappingProxyType

from middlewatch.sentinels.kit import HandbookPage

from ..config.run_spec import RunSpec
from ..judge.incidents import Incident
from ..parsers.exit_status import signal_of
from ..parsers.hosts import host_in
from .known_errors import is_safe, known_step
from .words import filled

BROKEN_XIDS = frozenset((48, 79, 95, 119, 120, 140, 143))
"""Numbers that mean a broken GPU or board (NVIDIA's Xid catalogue; the page of ``xid``)."""
BY_MESSAGE = frozenset(
    (
        *("python_exception", "launch_error", "rank_failed", "ckpt_mismatch", "cuda_device_assert"),
        *("host_alloc_failed", "accel_oom", "network_error", "nccl_error", "gloo_error"),
    )
)
"""Classes under which many kinds of error come: what the message says decides the first step."""
_TRACEBACKS = ("python_exception", "rank_failed", "launch_error")
_LEAVE = (
    "leave this box: copy the newest verified checkpoint off it while it still works "
    "(`middlewatch mirror --to DEST`), rent another one and resume there"
)
_MEMORY = (
    "look at the memory of the host: `free -g`, `grep -s oom_kill /sys/fs/cgroup/memory.events`, "
    "`dmesg -T | grep -i 'killed process' | tail -3`; a process that got SIGKILL was usually killed "
    "for memory"
)
_NEEDS_LESS = "then let it need less (fewer loader workers, a smaller prefetch or batch, data read in parts, nothing kept from step to step), or ask for more"
_SLURM = re.compile(r"slurm|stepid|srun")
_SLURM_MEMORY = "compare how much it used with what was asked for: `sacct -j JOBID -o JobID,MaxRSS,ReqMem,State` (`--mem` or `--mem-per-cpu` asks for more)"
_CGROUP_MEMORY = (
    "compare how much it used with its limit: `cat /sys/fs/cgroup/memory.peak /sys/fs/cgroup/memory.max` (docker: `--memory`, Kubernetes: "
    "`resources.limits.memory`)"
)
_HANGUP = (
    "start it so that no terminal can end it: `middlewatch run -- COMMAND`, from the newest good "
    "checkpoint (`middlewatch checkpoints`)"
)
_LIMIT = (
    "read the limit of its container in bytes (`docker inspect -f '{{.HostConfig.Memory}}' NAME`), and "
    "how much one worker uses before you choose their number: `docker stats --no-stream NAME` while it runs"
)
_DISK = "see whether bytes or inodes are used up: `df -h MOUNT; df -i MOUNT`"


def first_step(
    incident: Incident, entry: HandbookPage | None, spec: RunSpec | None = None
) -> tuple[str, bool]:
    """(first step of the remedy, whether it is safe): by the evidence if that asks for one of its
    own, else the finding's, else the handbook's. ``spec``: of the run, whose pid, log and folders
    are put into the commands."""
    container = spec.container_name if spec is not None else ""
    step, safe = _step(incident, entry, container)
    typed = {}
    if spec is not None and spec.container_log and not spec.logs:
        typed["LOG"] = f"<(docker logs {container} 2>&1)"
    return filled(step, _values(incident, spec), typed), safe


def _step(incident: Incident, entry: HandbookPage | None, container: str) -> tuple[str, bool]:
    own = _by_evidence(incident)
    if container and incident.trouble == "cgroup_oom_kill" and not incident.remedy:
        own = _LIMIT.replace("NAME", container)
    if own or incident.remedy:
        return own or incident.remedy, True
    known, where = _by_message(incident), ""
    if not container and incident.trouble == "python_exception":
        where = own_code(incident.details)
    elif container and known and entry and entry.steps:
        where = (
            entry.first_step.text
        )  # its files are in there, or lie under another path out here: its log says more
    if said := "; ".join(filter(None, (known, where))):
        return said, is_safe(said)
    if entry and entry.steps:
        return entry.first_step.text, entry.first_step.safe
    return "look at the evidence: middlewatch incidents", True


def _by_evidence(incident: Incident) -> str:
    details = incident.details
    if details.get("xid") in BROKEN_XIDS:
        return f"{_LEAVE} (Xid {details['xid']})"
    signal, code = details.get("signal"), details.get("exitcode")
    if incident.trouble in ("process_killed", "rank_failed", "silent_end"):
        if details.get("how") == "hangup" or signal == 1 or code in (129, -1):
            return _HANGUP
        if incident.trouble == "rank_failed" and (signal == 9 or code in (-9, 137)):
            return _MEMORY
    if incident.trouble in ("ckpt_write_failed", "quota_exceeded") and not incident.remedy:
        return _DISK if details.get("path") else _DISK.replace("MOUNT", "DIR")
    return ""


def _by_message(incident: Incident) -> str:
    """The step that its exception asks for; empty when none is known for it."""
    details = incident.details
    if incident.trouble not in BY_MESSAGE:
        return ""
    return known_step(f"{details.get('exception', '')}: {details.get('message', '')}")


def _values(incident: Incident, spec: RunSpec | None) -> dict[str, str]:
    """What stands for the names in commands: details of the finding first, then of the run."""
    found: dict[str, str] = {}
    if spec is not None:
        found["PID"] = "" if spec.pid is None else str(spec.pid)
        found["LOG"] = spec.logs[0] if spec.logs else ""
        found["DIR"] = spec.checkpoint_dirs[0] if spec.checkpoint_dirs else ""
        found["MOUNT"] = found["DIR"]
    pid, path = incident.details.get("pid"), incident.details.get("path")
    if isinstance(pid, int):
        found["PID"] = str(pid)
    if isinstance(path, str):
        found |= {"MOUNT": path, "PATH": path}
    return found


AROUND = 12
"""Lines before an error that are shown with it."""
LONGEST_TRACEBACK = 80
"""Lines of a traceback that are shown, its end: frames of libraries are most of a longer one."""
_KILLED = re.compile(r"sigkill|(?<!\d)-9(?!\d)|: line \d+: +\d+ killed\b|^\W*killed\W*$")
"""SIGKILL, as launchers and shells write it, in lower case."""
_USAGE = re.compile(
    r"error: (?:argument \S+: |unrecognized arguments|the following arguments|ambiguous option)|: invalid choice: "
)
"""What argparse says of a command that was typed wrongly."""
_HUNG_UP = re.compile(r"hangup|sighup|window-close|signal: 1\b|\b1 death signal")
_OTHER_LOG = re.compile(
    r"(?i)\b(?:log is in|logs? (?:are|can be found) (?:in|at)|(?:see|check|read|details in|consult) (?:the )?(?:logs? (?:file )?)?(?:in |at )?)"
    r"[:\s'\"`(]{0,3}(?P<path>[\w./~+-]{1,200}\.(?:log|out|err)(?:\.\d+)?)(?![\w/])"
)
_NO_GPU = (
    "see whether this box has a GPU, and the program a build that can use it: `nvidia-smi -L; "
    "python -c 'import torch; print(torch.__version__, torch.version.cuda)'`"
)
_OTHER_BUILD = (
    "compare what the GPU is with what the build was made for, and install one that was made for it: "
    "`python -c 'import torch; print(torch.cuda.get_device_capability(), torch.cuda.get_arch_list())'`"
)
_LIMITS = {
    signals.SIGXCPU: "raise the limit of CPU time, or start without it: `ulimit -t`",
    signals.SIGXFSZ: "raise the limit of file sizes, or start without it: `ulimit -f`",
}


_OF_WORKER = (
    (
        "bus error",
        "see how much shared memory there is: `df -h /dev/shm`; ask for more, or use fewer loader workers",
    ),
    (
        "segmentation fault",
        (
            "load the data without workers for one epoch (`num_workers=0`) under `python -X faulthandler`: it shows in "
            "which library it crashes; then resume from the newest good checkpoint"
        ),
    ),
    ("killed by signal: killed", f"{_MEMORY}; fewer loader workers need less"),
)
"""Signals that torch names for a worker of its loader (``torch/utils/data/_utils/signal_handling.py``)."""
_ASCEND = re.compile(
    r"\bHCCL\b|\bNPU (?:function )?error|\b(?:torch_npu|aclrt?\w*)\b.{0,80}\berror"
)
_PLOG = (
    "read what Ascend says itself, which is more than this line: "
    "`grep -rh '\\[ERROR\\]' ~/ascend/log/debug/plog | tail -n 20`; and which processes hold the devices: `npu-smi info`"
)
"""Where the runtime of Ascend writes its log (its manual, "plog")."""
_LOGIN = re.compile(
    r"api[_ ]?key|\b40[13]\b|unauthori[sz]ed|permission|not logged in|authenticat|credential|login"
)
_LOG_IN = (
    "the tracker refuses this login, the training itself need not be lost: set a valid key (`wandb login`), and upload "
    "what is on this disk afterwards (`wandb sync`)"
)


_OF_QUEUE = (
    (
        re.compile(r"\bTERM_OWNER\b"),
        "its owner has ended it (`bkill`); when, and from where: `bhist -l JOBID`. Note it with the run",
    ),
    (
        re.compile(r"\bTERM_MEMLIMIT\b"),
        (
            "read limit and use in the report of LSF at the end of this log, and ask for more, of each slot: "
            "`bsub -M LIMIT -R 'rusage[mem=LIMIT]'`; or use fewer loader workers"
        ),
    ),
    (
        re.compile(r"\bPBS: job killed: \w*mem\b"),
        "ask for more memory than the line says was used: `qsub -l mem=LIMIT`; or use fewer loader workers",
    ),
)
"""What LSF and PBS say of a job that they have ended (IBM, "bhist"; OpenPBS, ``mom``), and the first step there."""


def first_step_in_log(
    trouble: str, line: int, text: str, details: Mapping[str, object] = MappingProxyType({})
) -> str:
    """The first step for a finished log, where its evidence asks for one of its own; else empty.

    ``line`` and ``text``: the proof. ``details``: of the finding. Without the line of a traceback's head in them
    (``traceback_line``) the lines before the proof say what happened."""
    head = details.get("traceback_line")
    traceback = head if isinstance(head, int) else 0
    for words_of_queue, step in _OF_QUEUE:
        if words_of_queue.search(text):
            return step
    known = known_step(text) if trouble in BY_MESSAGE else ""
    if known and trouble not in _TRACEBACKS:
        own = own_code(details)
        return f"{known}; {own}" if own else known
    low, signal = text.lower(), signal_of(text)
    for number, words in _LIMITS.items():
        if signal == number or f"(-{number})" in text:
            return words
    if trouble == "sigterm_received" and (signal == signals.SIGHUP or _HUNG_UP.search(low)):
        return _HANGUP
    if trouble == "process_killed" and (signal == signals.SIGKILL or _KILLED.search(low)):
        return f"{_MEMORY}; {_NEEDS_LESS}"
    if trouble == "cgroup_oom_kill":
        asked = _SLURM_MEMORY if _SLURM.search(low) else _CGROUP_MEMORY
        return f"{asked}; {_NEEDS_LESS}"
    if trouble == "dataloader_worker_killed":
        return next((step for words, step in _OF_WORKER if words in low), "")
    if _ASCEND.search(text):
        return _PLOG
    if trouble == "tracker_network_error" and _LOGIN.search(low):
        return _LOG_IN
    if trouble == "cuda_unavailable":
        return _OTHER_BUILD if "kernel image" in low else _NO_GPU
    if trouble == "host_alloc_failed" and not re.search(r"memoryerror|bad_alloc|alloc", low):
        return _MEMORY
    if trouble == "launch_error" and _USAGE.search(low):
        return "correct the command: this line says which words it takes"
    if trouble == "interrupted" and traceback:
        first = max(traceback, line - LONGEST_TRACEBACK)
        return (
            "ask who stopped it, a person at a terminal or what started it; "
            f"what it was doing then: `sed -n '{first},{line}p' LOG`"
        )
    if trouble == "interrupted":
        return (
            "ask whether somebody stopped it on purpose (`last | head -5` on that box); to go on, resume from the newest save: "
            "`middlewatch checkpoints`"
        )
    before = f"`sed -n '{max(1, line - AROUND)},{line + 4}p' LOG`"
    if trouble == "cudnn_error" and "cudnn_status_" not in low:
        return f"read what the library said before the exception: {before}"
    if trouble in _TRACEBACKS:
        if other := _OTHER_LOG.search(text):
            return f"read the log that this line names: `tail -n 50 {other['path']}`"
        named = known or _named(text)
        if traceback:
            first = max(traceback, line - LONGEST_TRACEBACK)
            whole = f"`sed -n '{first},{line + 4}p' LOG`"
            own = own_code(details)
            if _MODULE.search(text):
                above = max(1, traceback - AROUND)
                return f"{named}; what was done before it: `sed -n '{above},{line}p' LOG`"
            if named or own:
                return f"{'; '.join(filter(None, (named, own)))}; the way there: {whole}"
            return f"read the traceback to its end, from the last frame in a file of your own on: {whole}"
        if "(because: " in text:
            return (
                "mend the last cause of the chain; where it came from: "
                f"`sed -n '{line},{line + LONGEST_TRACEBACK}p' LOG`"
            )
        if known:
            return f"{known}; what stands before it: {before}"
        return named or f"read what stands before the error: {before}"
    return ""


_AT = re.compile(r"['\"](?P<path>/[\w./~+=-]{1,300}/)[\w.+=-]{1,255}['\"]")


def values_in(text: str) -> dict[str, str]:
    """What stands for the names in the commands of a first step, by the proof: the folder of the last path that it quotes,
    and its host."""
    found: dict[str, str] = {}
    paths = [match["path"].rstrip("/") for match in _AT.finditer(text)]
    if paths and paths[-1]:
        found = {"MOUNT": paths[-1], "DIR": paths[-1]}
    if host := host_in(text):
        found["HOST"] = host
    return found


_OWN = re.compile(r"(?P<file>[\w./~+:\\ -]{1,300}):(?P<line>\d{1,7}) in (?P<name>[\w<>.]{1,80})")
_TYPEABLE = re.compile(r"[\w./~+-]+\.py")


def own_code(details: Mapping[str, object]) -> str:
    """Where the program's own code was when the exception came, if a frame of the traceback tells; else empty.

    Only characters that mean nothing to a shell come into the command."""
    match = _OWN.fullmatch(str(details.get("frame", "")))
    if match is None:
        return ""
    at, name = int(match["line"]), match["name"]
    where = "at its top level" if name == "<module>" else f"in {name}"
    said = f"look at line {at} of {match['file']} ({where}), where your own code was"
    if not _TYPEABLE.fullmatch(match["file"]):
        return said
    return f"{said}: `sed -n '{max(1, at - 5)},{at + 2}p' {match['file']}`"


_NOT_THERE = re.compile(
    r"(?i)(?:can't open file|no such file or directory[:,]?|cannot (?:open|stat|find|access)(?: file)?|not found[:,]?"
    r"|does not exist[:,]?|missing (?:path|file|folder|directory)|file)['\"\s:(]{1,3}(?P<path>[\w.~+-]{0,80}/[\w./~+-]{0,200}|[\w.~+-]{0,200}\.\w{1,8})(?=['\"\s:,;)]|$)"
    r"|(?:can't open file|no such file or directory[:,]?)['\"\s:(]{1,3}(?P<other>[\w./~+-]{1,200})(?=['\"\s:,;)]|$)"
)
"""Only with characters that mean nothing to a shell: the path is put into a command."""
_UNKNOWN = re.compile(
    r"(?i)\b(?:unknown|unrecognized|unsupported|unexpected|undefined|invalid)(?: \w+){0,3}\W{1,3}(?P<name>[\w./-]{2,60})"
)


_MODULE = re.compile(r"No module named ['\"]?(?P<name>[\w.]{1,80})")
_UNFILLED = re.compile(r"\$\{(?P<name>\w{2,40})\}")


def _named(text: str) -> str:
    """The first step for an error that names what is not there: a file, a module, a variable, a name."""
    if match := _UNFILLED.search(text):
        name = match["name"]
        return f"{name} was not filled in: find where it is used, and set it: `grep -rnF -- '{name}' .`"
    if match := _MODULE.search(text):
        name = match["name"].partition(".")[0]
        return (
            f"see which Python ran, and whether it has {name}: `python -c 'import sys; print(sys.executable)'; "
            f"python -m pip show {name}`; if {name} is your own, start from the folder that has it"
        )
    missing = re.search(
        r"(?i)no such file|not found|not exist|can't open|missing (?:path|file|folder|directory)",
        text,
    )
    if missing and (match := _NOT_THERE.search(text)):
        path = match["path"] or match["other"]
        return f"see which part of this path is not there, and in which folder the job starts: `namei {path}; pwd`"
    if "[Errno " not in text and (match := _UNKNOWN.search(text)):
        return f"find where your own files say it: `grep -rnF -- '{match['name']}' .`"
    return ""
