"""Signatures of collectives that time out or break: NCCL, RCCL, HCCL, gloo, and their users.

Wordings: PyTorch c10d, NCCL, gloo, Horovod, XLA, PaddlePaddle, Ascend. A line that names the
underlying trouble (memory, ECC, an illegal access) is only of that class, even if it is the message
of a collective.
"""

from __future__ import annotations

from .form import Signature

_CAUSED = (
    r"(?!.*(?:[Oo]ut of memory|ECC error|NVLink error|illegal memory access|device-side assert|launch failure|misaligned address"
    r"|CUDA error: (?!out)|shared memory segment|failed to extend /dev/shm/|No space left|[Tt]oo many open files))"
)
_TIMES_OUT = r"(?!.*(?:collective operation timeout|before timing out|[Hh]eartbeat monitor timed out|wait timeout after|Socket Timeout))"

COLLECTIVES: tuple[Signature, ...] = (
    Signature(  # pytorch, paddlepaddle, ascend
        "nccl-watchdog-timeout",
        "nccl_timeout",
        r"[Cc]aught collective operation timeout(?:.*?OpType=(?P<collective>\w+))?"
        r"|Work(?:NCCL|HCCL|XCCL|MCCL|UCC)\(.*Timeout\(ms\)=\d+\) ran for \d+ milliseconds before timing out"
        r"|ProcessGroup(?:NCCL|HCCL|XCCL|MCCL|CNCL|UCC)\b.{0,200}(?:[Hh]eartbeat monitor timed out"
        r"|Collective operation timeout)"
        r"|\[PG.{0,80}[Hh]eartbeat monitor timed out"
        r"|watchdog got stuck for \d+ seconds without making progress"
        r"|Timeout at (?:NCCL|collective) work"
        r"|[Ff]ind timeout (?:init|started?) but not (?:started|finished)"
        r"|(?i:\bhccl\b.{0,80}(?:task timeout|execution timeout|timeout occurred|timed out))"
        r"|[Nn]otify (?:wait timeout|register times out)"
        r"|[Gg]etting socket times out"
        r"|\bNCCL (?:operation"
        r"|collective"
        r"|communication"
        r"|communicator"
        r"|init\w*"
        r"|broadcast"
        r"|all\w+)s? (?:has |have )?time(?:d|s) ?out\b"
        r"|\bNCCL timeout\b(?! *(?:[=:(]|is |of |to |set|value|\d))"
        r"|Collective (?:ops is aborted by: .{0,120})?[Cc]ollective has timed out",
        source="pytorch c10d ProcessGroupNCCL.cpp, torch_npu, Paddle comm_task_manager.cc",
    ),
    Signature(  # pytorch
        "nccl-fallout",
        "nccl_timeout",
        r"Some NCCL operations have failed or timed out"
        r"|To avoid (?:these inconsistencies|data inconsistency), we are taking (?:the )?entire process down.*(?:timed? ?out|timing out)"
        r"|[Rr]eceived a (?:dump|timeout) signal due to a collective timeout from"
        r"|due to collective timeout or exception",
        role="confirmation",
        severity="warning",
        source="pytorch c10d ProcessGroupNCCL.cpp",
    ),
    Signature(
        "nccl-peer-gone",
        "nccl_error",
        rf"^{_CAUSED}{_TIMES_OUT}.*(?:ncclRemoteError\b"
        r"|NCCL error: remote process exited"
        r"|NCCL WARN .{0,120}(?:Connection closed by remote peer|Connection reset by peer))",
        role="cascade",
        source="nccl src/misc/socket.cc, pytorch c10d NCCLUtils.hpp",
    ),
    Signature(  # pytorch, horovod, jax, paddlepaddle; NCCL 2.4 .. 2.27
        "nccl-error",
        "nccl_error",
        rf"^{_CAUSED}{_TIMES_OUT}.*(?:"
        r"\bR?NCCL (?:communicator )?(?:[Ee]rror|failure)(?: in)?\s*(?:\d+\s*)?[:(]\s*(?!none|None)\S"
        r"|\bTest NCCL failure "
        r"|\bunhandled (?:system|cuda|hip) error(?:[,.]? \(?(?:NCCL|run with|Set)|$)"
        r"|\bnccl(?:System|UnhandledCuda|Internal)Error\b"
        r"|\bncclInvalid(?:Usage|Argument)\b"
        r"|\bNCCL_ERROR_[A-Z]+"
        r"|DistBackendError(?!: NCCL communicator was aborted)"
        r"|\bnccl(?:[A-Z][A-Za-z]+) failed: "
        r"|NCCL operation .{0,80}failed: "
        r"|NET/IB : Got completion .{0,80}with (?:error|status)"
        r"|DIST call hccl api failed"
        r"|HCCL (?:function )?error"
        r"|\bHccl[A-Z]\w+, error code is \d+"
        r"|oneCCL.{0,40}(?:EXCEPTION|: error)"
        r"|NCCL WARN (?:.{0,120}(?:Call to \w+ .{0,80}(?:failed|returned)"
        r"|(?:Cuda|HIP) failure"
        r"|[Uu]nhandled"
        r"|Got completion .{0,80}with (?:error|status)"
        r"|port error"
        r"|Connect to .{0,80}failed"
        r"|Error: "
        r"|failed to execute operation)"
        r"|Duplicate GPU detected"
        r"|Mismatched collective"
        r"|Message truncated"
        r"|Bootstrap : no socket interface"
        r"|Proxy Call to rank \d+ failed"
        r"|\[Proxy Service.{0,20}\] Failed))",
        source="nccl src/include/debug.h, pytorch c10d NCCLUtils.hpp, horovod nccl_operations.cc, xla nccl_utils",
    ),
    Signature(  # pytorch
        "nccl-aborted",
        "nccl_error",
        rf"^{_CAUSED}{_TIMES_OUT}.*(?:NCCL communicator was aborted"
        r"|(?:NCCL|Process group) watchdog thread terminated with exception: (?!.*time(?:d|out)))",
        role="cascade",
        severity="warning",
        source="pytorch c10d ProcessGroupNCCL.cpp",
    ),
    Signature(  # pytorch
        "group-never-met",
        "rendezvous_failed",
        r"Timed out initializing process group in store based barrier"
        r"|store->get\([^)]{0,80}\) got error: (?:Socket Timeout|wait timeout)",
        source="pytorch torch/distributed/distributed_c10d.py, ProcessGroupNCCL.cpp",
    ),
    Signature(  # pytorch, horovod, ray; torch 0.4 .. 2.13
        "gloo-timeout",
        "gloo_timeout",
        r"gloo[/\\].{0,300}(?:[Tt]imed ?out|[Tt]ime-?out(?! (?:of|is|set|=)))"
        r"|\bGloo\b.{0,80}(?:timed out|[Tt]imeout error)"
        r"|[Aa]pplication timeout caused pair closure"
        r"|Timed out waiting \d+ms for (?:send|recv) operation"
        r"|failed to pass monitoredBarrier"
        r"|timed out in monitoredBarrier"
        r"|monitoredBarrier.{0,40}(?:timed out|but received errors)",
        source="gloo transport/tcp/unbound_buffer.cc, pair.cc; pytorch c10d ProcessGroupGloo.cpp",
    ),
    Signature(  # pytorch, horovod, ray
        "gloo-error",
        "gloo_error",
        r"gloo[/\\](?!.{0,300}[Tt]ime(?:d ?|-)?out).{0,200}(?:Connection (?:reset|closed|refused)"
        r"|Broken pipe"
        r"|[Ss]ocket closed"
        r"|\berror\b"
        r"|Software caused"
        r"|[Uu]nable to find address"
        r"|op\.preamble\.length)"
        r"|enforce fail at \S*gloo[/\\](?!.{0,300}[Tt]ime(?:d ?|-)?out)"
        r"|Gloo connectFullMesh failed(?!.*[Tt]ime(?:d ?)?out)"
        r"|unsupported gloo device",
        source="gloo transport/tcp/pair.cc",
    ),
    Signature(  # pytorch, horovod
        "gloo-thrown",
        "gloo_error",
        r"throwing an instance of 'gloo::",
        role="confirmation",
        severity="info",
        fatal=False,
        source="libstdc++ vterminate.cc: the line after it says what it was",
    ),
)
