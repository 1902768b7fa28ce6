"""Signatures of programs that say themselves that nothing moves any more.

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
        r"Did not get (?:initial|subsequent) heartbeat\. Waited|Termination timeout for .{1,200} of \d+ seconds exceeded|(?i:(?:scheduler|detokenizer)? ?watchdog timeout \()|RPC call to \w+ timed out"
        r"|Reaping worker_id=\[[\d, ]+\]\. +Expired timers|(?i:\b(?:training|job|worker|process|node|rank|trainer)s? (?:\S+ )?(?:hang|deadlock|stall)(?:ed|ing)? (?:was |has been |is )?detected\b(?! *[:=] *(?:false|0|no)))",
        (
            "heartbeat. waited",
            "termination timeout for",
            "watchdog timeout (",
            "rpc call to",
            "expired timers",
            "hang detected",
            "hang is detected",
            "hang was detected",
            "hang has been detected",
            "hanging detected",
            "deadlock detected",
            "stall detected",
            "stalled detected",
            "stall was detected",
        ),
        (
            "[WARNING] [RankMonitorServer:34] Did not get subsequent heartbeat. Waited 171.92 seconds.",
            "Termination timeout for `InitializeNcclClique for rank 3` of 40 seconds exceeded. Exiting to ensure a consistent program state.",
            "[TP3] Watchdog timeout (self.watchdog_timeout=300)",
            "TimeoutError: RPC call to execute_model timed out.",
            "Reaping worker_id=[3].  Expired timers: ['train_step']",
            "ERROR: training hang detected, restarting workers",
        ),
        (
            "hang detection is on",
            "training hang detected: False",
            "watchdog timeout: 600 s",
            "ERROR: deadlock detected in transaction 7",
        ),
        source="nvidia-resiliency-ext rank_monitor_server.py, xla rendezvous.cc, sglang scheduler.py, torch elastic timer",
    ),
    Signature(
        "stall-warned",
        "hang",
        r"\bStalled (?:ranks|ops): ?|One or more tensors were submitted to be (?:reduced|gathered|broadcast)|^Timeout \(\d+:\d{2}:\d{2}(?:\.\d+)?\)!"
        r"|(?i:\bno (?:training )?(?:progress|steps?|new steps?) (?:made |completed )?(?:for|in|since) (?:the (?:last|past) )?[\d.]+ ?(?:s|secs?|seconds|m|mins?|minutes|h|hours?)\b|(?:has been|been|appears to be|seems to be) (?:hanging|hung|stuck|stalled) (?:for|since) [\d.]+|\b(?:training|(?:rank|worker|process) \d+) (?:is |was |has )?(?:hung|stuck|stalled) (?:for|since) [\d.]+(?![\d.]| ?(?:epoch|step|iter)))",
        (
            "stalled ranks:",
            "stalled ops:",
            "tensors were submitted to be",
            "timeout (",
            "no progress",
            "no training progress",
            "no steps ",
            "no step ",
            "no new step",
            "hanging for",
            "hung for",
            "stuck for",
            "stalled for",
            "stuck since",
            "hanging since",
            "stalled since",
        ),
        (
            "[1,0]<stderr>:Stalled ranks:",
            "Stalled ops: DistributedOptimizer_Allreduce/grad_3 [missing ranks: 2]",
            "One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.",
            "Timeout (0:10:00)!",
            "watchdog: no progress for 1800 s, dumping stacks",
            "rank 3 has been stuck for 900 seconds",
            "ERROR: training stuck for 30 minutes",
        ),
        (
            "Timeout (s): 30",
            "no progress bar",
            "no improvement for 10 epochs",
            "Stalled: 0",
        ),
        severity="warning",
        fatal=False,
        source="horovod stall_inspector.cc, CPython faulthandler.c",
    ),
    Signature(
        "stall-noted",
        "hang",
        r"This thread has been waiting for .{1,300} and may be stuck|CreateSession still waiting for response from worker|No available shared memory broadcast block found in \d+ sec",
        ("may be stuck", "still waiting for response", "shared memory broadcast block"),
        (
            "This thread has been waiting for `InitializeNcclClique` for 10 seconds and may be stuck: expected 8 threads",
            "CreateSession still waiting for response from worker: /job:ps/replica:0/task:0",
        ),
        ("This thread has been waiting for work",),
        role="confirmation",
        severity="info",
        fatal=False,
        source="xla rendezvous.cc, tensorflow master.cc, vllm shm_broadcast.py",
    ),
)
