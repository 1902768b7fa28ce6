"""Signatures of collectives that time out or break: NCCL, RCCL, HCCL, gloo, and their users.

Wordings: PyTorch c10d, NCCL, gloo, Horovod, XLA, PaddlePaddle, Ascend. A line that names the
trouble underneath (memory, ECC, an illegal access) is of that class alone: the collective only
brought the message.
"""

from __future__ import annotations

from .form import Signature

_CAUSED = (
    r"(?!.*(?:[Oo]ut of memory|ECC error|NVLink error|illegal memory access|device-side assert|launch failure|misaligned address"
    r"|CUDA error: (?!out)|shared memory segment|failed to extend /dev/shm/|No space left|[Tt]oo many open files))"
)
_TIMES_OUT = r"(?!.*(?:collective operation timeout|before timing out|[Hh]eartbeat monitor timed out|wait timeout after|Socket Timeout))"

COLLECTIVES: tuple[Signature, ...] = (
    Signature(
        "nccl-watchdog-timeout",
        "nccl_timeout",
        r"[Cc]aught collective operation timeout(?:.*?OpType=(?P<collective>\w+))?"
        r"|Work(?:NCCL|HCCL|XCCL|MCCL|UCC)\(.*Timeout\(ms\)=\d+\) ran for \d+ milliseconds before timing out"
        r"|ProcessGroup(?:NCCL|HCCL|XCCL|MCCL|CNCL|UCC)\b.{0,200}(?:[Hh]eartbeat monitor timed out|Collective operation timeout)|\[PG.{0,80}[Hh]eartbeat monitor timed out"
        r"|watchdog got stuck for \d+ seconds without making progress|Timeout at (?:NCCL|collective) work|[Ff]ind timeout (?:init|started?) but not (?:started|finished)"
        r"|(?i:\bhccl\b.{0,80}(?:task timeout|execution timeout|timeout occurred|timed out))|[Nn]otify (?:wait timeout|register times out)|[Gg]etting socket times out"
        r"|\bNCCL (?:operation|collective|communication|communicator|init\w*|broadcast|all\w+)s? (?:has |have )?time(?:d|s) ?out\b|\bNCCL timeout\b(?! *(?:[=:(]|is |of |to |set|value|\d))|Collective (?:ops is aborted by: .{0,120})?[Cc]ollective has timed out",
        (
            "caught collective",
            "before timing out",
            "heartbeat monitor",
            "collective operation timeout",
            "watchdog got stuck",
            "timeout at nccl",
            "timeout at collective",
            "find timeout",
            "task timeout",
            "execution timeout",
            "timeout occurred",
            "timed out",
            "times out",
            "wait timeout",
            "nccl timeout",
            "nccl operation timeout",
            "nccl communicator timeout",
            "nccl initialization timeout",
        ),
        (
            "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600009 milliseconds before timing out.",
            "[E506 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=_ALLGATHER_BASE, NumelIn=1, NumelOut=8, Timeout(ms)=1800000) ran for 1800088 milliseconds before timing out.",
            "[E ProcessGroupNCCL.cpp:1316] [PG 0 Rank 0] Heartbeat monitor timed out! Process will be terminated after dumping debug info.",
            "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.",
            "EI0002: The wait execution of the Notify register times out. Reason: no record from remote rank [7]",
            "EI0006: Getting socket times out. Reason: Remote Rank did not send the data in time.",
            "The error from device(chipId:5), hccl fftsplus task timeout occurred during task execution",
            "RuntimeError: NCCL communication timed out after 600 s",
        ),
        (
            "export NCCL_TIMEOUT=1800",
            "ProcessGroupNCCL initialization options: timeout: 10 min",
            "NCCL timeout: 1800 s",
            "setting the NCCL timeout to 30 minutes",
            "export HCCL_EXEC_TIMEOUT=17340",
        ),
        frameworks=("pytorch", "paddlepaddle", "ascend"),
        source="pytorch c10d ProcessGroupNCCL.cpp, torch_npu, Paddle comm_task_manager.cc",
    ),
    Signature(
        "nccl-fallout",
        "nccl_timeout",
        r"Some NCCL operations have failed or timed out|To avoid (?:these inconsistencies|data inconsistency), we are taking (?:the )?entire process down.*(?:timed? ?out|timing out)"
        r"|[Rr]eceived a (?:dump|timeout) signal due to a collective timeout from|due to collective timeout or exception",
        ("some nccl operations", "entire process down", "collective timeout"),
        (
            "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, data may be bad.",
            "Received a dump signal due to a collective timeout from this local rank and we will try our best to dump the debug info.",
        ),
        ("All NCCL operations completed",),
        role="confirmation",
        severity="warning",
        frameworks=("pytorch",),
        source="pytorch c10d ProcessGroupNCCL.cpp",
    ),
    Signature(
        "nccl-peer-gone",
        "nccl_error",
        r"^"
        + _CAUSED
        + _TIMES_OUT
        + r".*(?:ncclRemoteError\b|NCCL error: remote process exited|NCCL WARN .{0,120}(?:Connection closed by remote peer|Connection reset by peer))",
        ("ncclremoteerror", "remote process exited", "nccl warn"),
        (
            "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
            "RuntimeError: NCCL communicator error: NCCL error: remote process exited or there was a network error, NCCL version 2.18.3",
            "node:1:1 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer host",
        ),
        ("NCCL_DEBUG=WARN", "NCCL WARN NUMA auto balancing enabled which can lead to variability"),
        role="cascade",
        source="nccl src/misc/socket.cc, pytorch c10d NCCLUtils.hpp",
    ),
    Signature(
        "nccl-error",
        "nccl_error",
        r"^"
        + _CAUSED
        + _TIMES_OUT
        + r".*(?:\bR?NCCL (?:communicator )?(?:[Ee]rror|failure)(?: in)?\s*(?:\d+\s*)?[:(]\s*(?!none|None)\S|\bTest NCCL failure |\bunhandled (?:system|cuda|hip) error(?:[,.]? \(?(?:NCCL|run with|Set)|$)"
        r"|\bnccl(?:System|UnhandledCuda|Internal)Error\b|\bncclInvalid(?:Usage|Argument)\b|\bNCCL_ERROR_[A-Z]+|DistBackendError(?!: NCCL communicator was aborted)|\bnccl(?:[A-Z][A-Za-z]+) failed: |NCCL operation .{0,80}failed: "
        r"|NET/IB : Got completion .{0,80}with (?:error|status)|DIST call hccl api failed|HCCL (?:function )?error|\bHccl[A-Z]\w+, error code is \d+|oneCCL.{0,40}(?:EXCEPTION|: error)"
        r"|NCCL WARN (?:.{0,120}(?:Call to \w+ .{0,80}(?:failed|returned)|(?:Cuda|HIP) failure|[Uu]nhandled|Got completion .{0,80}with (?:error|status)|port error|Connect to .{0,80}failed|Error: |failed to execute operation)|Duplicate GPU detected|Mismatched collective|Message truncated|Bootstrap : no socket interface|Proxy Call to rank \d+ failed|\[Proxy Service.{0,20}\] Failed))",
        (
            "nccl error",
            "nccl failure",
            "nccl communicator error",
            "unhandled system error",
            "unhandled cuda error",
            "unhandled hip error",
            "ncclsystemerror",
            "ncclunhandledcudaerror",
            "ncclinternalerror",
            "ncclinvalid",
            "nccl_error_",
            "distbackenderror",
            "ncclcomm",
            "ncclall",
            "ncclbroadcast",
            "ncclgroup",
            "ncclreduce",
            "hccl api failed",
            "hccl error",
            "hccl function error",
            ", error code is",
            "oneccl",
            "nccl warn",
            "got completion",
        ),
        (
            "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1269, unhandled system error, NCCL version 2.14.3",
            "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1331, internal error, NCCL version 2.19.3",
            "RuntimeError: NCCL Error 2: unhandled system error",
            "OSError: (External) NCCL error(5), invalid usage.",
            "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.",
            "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
            "HorovodInternalError: ncclAllReduce failed: unhandled cuda error",
            "XlaRuntimeError: INTERNAL: NCCL operation ncclGroupEnd() failed: unhandled cuda error (run with NCCL_DEBUG=WARN for details)",
            "n1:1:2 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4000> with error 12, opcode 0, len 0, vendor err 129",
            "n1:1:2 [0] transport/net_ib.cc:95 NCCL WARN NET/IB : mlx5_0:1 Got async event : port error",
            "NET/IB : Got completion from peer 10.0.0.3<4000> with error 12, opcode 0, len 0, vendor err 129 (Recv)",
            "n1:1:2 [1] init.cc:521 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000",
            "[ERROR] (PID:7, Device:0, RankID:1) ERR02200 DIST call hccl api failed.",
            "RuntimeError: OPS function error: HcclAllreduce, error code is 6",
        ),
        (
            "node:1:2 [0] NCCL INFO Channel 00 : 0 1",
            "NCCL version 2.18.1+cuda12.1",
            "NCCL_DEBUG=WARN",
            "TORCH_NCCL_ASYNC_ERROR_HANDLING=1",
            "terminate called after: Caught collective operation timeout, NCCL error: unhandled cuda error, before timing out",
            "n1:3:7 [0] transport/p2p.cc:5 NCCL WARN Cuda failure 2 'out of memory'",
        ),
        frameworks=("pytorch", "horovod", "jax", "paddlepaddle"),
        versions="NCCL 2.4 .. 2.27",
        source="nccl src/include/debug.h, pytorch c10d NCCLUtils.hpp, horovod nccl_operations.cc, xla nccl_utils",
    ),
    Signature(
        "nccl-aborted",
        "nccl_error",
        r"^"
        + _CAUSED
        + _TIMES_OUT
        + r".*(?:NCCL communicator was aborted|(?:NCCL|Process group) watchdog thread terminated with exception: (?!.*time(?:d|out)))",
        ("communicator was aborted", "watchdog thread terminated"),
        ("RuntimeError: NCCL communicator was aborted on rank 1.",),
        (
            "NCCL communicator was created",
            "[Rank 0] NCCL watchdog thread terminated with exception: CUDA error: uncorrectable ECC error encountered",
            "[Rank 1] NCCL watchdog thread terminated with exception: Watchdog caught collective operation timeout: WorkNCCL(",
        ),
        role="cascade",
        severity="warning",
        frameworks=("pytorch",),
        source="pytorch c10d ProcessGroupNCCL.cpp",
    ),
    Signature(
        "group-never-met",
        "rendezvous_failed",
        r"Timed out initializing process group in store based barrier|store->get\('[^']*'\) got error: (?:Socket Timeout|wait timeout)",
        ("initializing process group", "') got error: "),
        (
            "RuntimeError: Timed out initializing process group in store based barrier on rank: 0, for key: store_based_barrier_key:1 (world_size=8, worker_count=1, timeout=0:30:00)",
            "[1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Socket Timeout",
        ),
        ("Rank 0: Completed store-based barrier for key:store_based_barrier_key:1 with 8 nodes.",),
        frameworks=("pytorch",),
        source="pytorch torch/distributed/distributed_c10d.py, ProcessGroupNCCL.cpp",
    ),
    Signature(
        "gloo-timeout",
        "gloo_timeout",
        r"gloo[/\\].{0,300}(?:[Tt]imed ?out|[Tt]ime-?out(?! (?:of|is|set|=)))|\bGloo\b.{0,80}(?:timed out|[Tt]imeout error)|[Aa]pplication timeout caused pair closure"
        r"|Timed out waiting \d+ms for (?:send|recv) operation|failed to pass monitoredBarrier|timed out in monitoredBarrier|monitoredBarrier.{0,40}(?:timed out|but received errors)",
        (
            "gloo/",
            "gloo\\",
            "gloo timed out",
            "gloo operation",
            "gloo connectfullmesh",
            "[gloo]",
            "caused pair closure",
            "for send operation",
            "for recv operation",
            "monitoredbarrier",
        ),
        (
            "RuntimeError: [../gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 1800000ms for recv operation to complete",
            "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:136] Timed out waiting 300000ms for send operation to complete",
            "RuntimeError: Application timeout caused pair closure",
            "RuntimeError: [../gloo/transport/tcp/pair.cc:211] Connect timeout [127.0.0.1]:4000",
            "RuntimeError: [/tmp/gloo/rendezvous/store.cc:27] Wait timeout for key(s): rank_0",
            "[Rank 0]: Rank 1 failed to pass monitoredBarrier in 1800000 ms",
            "RuntimeError: Ranks 1, 2 failed to pass monitoredBarrier in 60000 ms",
            "RuntimeError: [enforce fail at D:\\third_party\\gloo\\gloo\\transport\\uv\\unbound_buffer.cc:67] Timed out waiting 1800000ms for recv operation to complete",
            "[E ProcessGroupGloo.cpp:138] Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0.",
            "[E ProcessGroupGloo.cpp:2791] Rank 0 timed out in monitoredBarrier after 60000 ms.",
        ),
        (
            "using gloo backend with timeout of 1800 s",
            "gloo/tcp: timeout is 1800 s",
            "entering monitoredBarrier",
        ),
        frameworks=("pytorch", "horovod", "ray"),
        versions="torch 0.4 .. 2.13",
        source="gloo transport/tcp/unbound_buffer.cc, pair.cc; pytorch c10d ProcessGroupGloo.cpp",
    ),
    Signature(
        "gloo-error",
        "gloo_error",
        r"gloo[/\\](?!.{0,300}[Tt]ime(?:d ?|-)?out).{0,200}(?:Connection (?:reset|closed|refused)|Broken pipe|[Ss]ocket closed|\berror\b|Software caused|[Uu]nable to find address|op\.preamble\.length)"
        r"|enforce fail at \S*gloo[/\\](?!.{0,300}[Tt]ime(?:d ?|-)?out)|Gloo connectFullMesh failed(?!.*[Tt]ime(?:d ?)?out)|unsupported gloo device",
        ("gloo/", "gloo\\", "connectfullmesh failed", "unsupported gloo device"),
        (
            "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:4000",
            "RuntimeError: [gloo/transport/tcp/pair.cc:575] Connection reset by peer",
            "RuntimeError: makeDeviceForHostname(): unsupported gloo device",
            "RuntimeError: Gloo connectFullMesh failed with [../gloo/transport/tcp/pair.cc:144] no error",
            "  what():  [enforce fail at ../gloo/transport/tcp/device.cc:130] rp != nullptr. No such host",
        ),
        ("Initialized gloo/tcp transport on eth0", "Using gloo/cuda with 8 threads"),
        frameworks=("pytorch", "horovod", "ray"),
        source="gloo transport/tcp/pair.cc",
    ),
    Signature(
        "gloo-thrown",
        "gloo_error",
        r"throwing an instance of 'gloo::",
        ("instance of 'gloo::",),
        ("terminate called after throwing an instance of 'gloo::IoException'",),
        ("terminate called after throwing an instance of 'c10::Error'",),
        role="confirmation",
        severity="info",
        fatal=False,
        frameworks=("pytorch", "horovod"),
        source="libstdc++ vterminate.cc: the line after it says what it was",
    ),
)
