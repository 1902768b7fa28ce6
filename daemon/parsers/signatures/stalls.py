"""Signatures of programs that report themselves that they make no progress.

Wordings: Horovod, XLA, CPython's faulthandler, NVIDIA resiliency extension, SGLang, vLLM,
dlrover, torch elastic. Whether a run really stands still is decided by its steps; a line alone
is a warning unless the program ends itself with it.
"""

from __future__ import annotations

from .form import Signature

STALLS: tuple[Signature, ...] = (
    Signature(
        "stall-ended",
        "hang",
        r"Did not get (?:initial|subsequent) heartbeat\. Waited"
        r"|Termination timeout for .{1,200} of \d+ seconds exceeded"
        r"|(?i:(?:scheduler|detokenizer)? ?watchdog timeout \()"
        r"|RPC call to \w+ timed out"
        r"|Reaping worker_id=\[[\d, ]+\]\. +Expired timers"
        r"|(?i:\b(?:training|job|worker|process|node|rank|trainer)s? (?:\S+ )?(?:hang|deadlock|stall)(?:ed|ing)? (?:was |has been |is )?detected\b(?! *[:=] *(?:false|0|no)))",
        source="nvidia-resiliency-ext rank_monitor_server.py, xla rendezvous.cc, sglang scheduler.py, torch elastic timer",
    ),
    Signature(
        "stall-warned",
        "hang",
        r"\bStalled (?:ranks|ops): ?"
        r"|One or more tensors were submitted to be (?:reduced|gathered|broadcast)"
        r"|^Timeout \(\d+:\d{2}:\d{2}(?:\.\d+)?\)!"
        r"|(?i:"
        r"\bno (?:training )?(?:progress|steps?|new steps?) (?:made |completed )?(?:for|in|since) (?:the (?:last|past) )?[\d.]+ ?(?:s|secs?|seconds|m|mins?|minutes|h|hours?)\b"
        r"|(?:has been|been|appears to be|seems to be) (?:hanging|hung|stuck|stalled) (?:for|since) [\d.]+"
        r"|\b(?:training|(?:rank|worker|process) \d+) (?:is |was |has )?(?:hung|stuck|stalled) (?:for|since) [\d.]+(?![\d.]| ?(?:epoch|step|iter))"
        r")",
        severity="warning",
        fatal=False,
        source="horovod stall_inspector.cc, CPython faulthandler.c",
    ),
    Signature(
        "stall-noted",
        "hang",
        r"This thread has been waiting for .{1,300} and may be stuck"
        r"|CreateSession still waiting for response from worker"
        r"|No available shared memory broadcast block found in \d+ sec",
        role="confirmation",
        severity="info",
        fatal=False,
        source="xla rendezvous.cc, tensorflow master.cc, vllm shm_broadcast.py",
    ),
)
