"""Signatures of launchers: a rank that died, ranks that do not find each other.

Wordings: torchrun and torch.distributed.launch, mp.spawn, accelerate, DeepSpeed, Horovod,
Open MPI, PRRTE, MPICH, Intel MPI, Cray, Slurm, Ray, JAX.
"""

from __future__ import annotations

from .form import Signature

LAUNCHERS: tuple[Signature, ...] = (
    Signature(  # torchrun, deepspeed, slurm
        "rank-exit",
        "rank_failed",
        r"failed \(exitcode: (?P<exitcode>-?\d+)\) local_rank: (?P<rank>\d+)"
        r"|\bexitcode\s+: (?P<code_table>-?[1-9]\d*)"
        r"|Local worker group finished \(FAILED\)"
        r"|\bWorker group FAILED"
        r"|srun: error: \S+: tasks? [\d,-]+: Exited with exit code (?P<code_srun>\d+)"
        r"|exits with return code = (?P<code_ds>-?[1-9]\d*)",
        role="cascade",
        source="torch/distributed/elastic/multiprocessing/api.py, deepspeed/launcher/launch.py, slurm",
    ),
    Signature(  # mpi
        "mpi-exit",
        "rank_failed",
        r"(?:mpirun|mpiexec|prterun|prun|orterun) noticed that process rank (?P<rank_mpi>\d+).{0,120}exited on signal"
        r"|(?:mpirun|mpiexec|prterun|orterun) (?:detected that one or more processes exited with non-zero"
        r"|has exited due to process rank)"
        r"|Primary job  ?terminated normally, but \d+ process"
        r"|MPI_ABORT was invoked on rank (?P<rank_abort>\d+)"
        r"|BAD TERMINATION OF ONE OF YOUR APPLICATION"
        r"|application called MPI_Abort\("
        r"|\bAbort\(-?\d+\)(?: \(rank \d+ in comm \d+\))? on node (?P<rank_mpich>\d+)"
        r"|(?:ORTE|PRTE|PRRTE) has lost communication with a remote daemon"
        r"|\[proxy:\d+:\d+@[^\]]+\] HYD\w+ .{0,80}assert"
        r"|PE RANK (?P<rank_cray>\d+) exit signal"
        r"|Fatal error in (?:internal_|P?MPI)_?\w+:"
        r"|killed on node .{0,80}with status"
        r"|_pmiu_daemon\(SIGCHLD\)",
        narrow=("[proxy:",),
        role="cascade",
        source="Open MPI orte/tools/orterun help files, prrte, MPICH hydra, Intel MPI, Cray ALPS",
    ),
    Signature(  # horovod, ray, jax, slurm
        "workers-exit",
        "rank_failed",
        r"Process \d+ exit with status code (?P<code_hvd>[1-9]\d*)"
        r"|Terminating remaining workers after failure of Process"
        r"|Horovod detected that one or more processes exited"
        r"|\bThe actor died (?:unexpectedly|because)"
        r"|worker died or was killed while executing a task"
        r"|\b(?:ActorDiedError|RayActorError|WorkerCrashedError|NodeDiedError|ActorUnavailableError)\b"
        r"|has been marked dead because the detector has missed too many heartbeats"
        r"|heartbeat timeout\. This indicates that the remote task"
        r"|JAX distributed service detected fatal errors"
        r"|srun: error: [Nn]ode failure on "
        r"|-- Process \d+ terminated with the following error",
        role="cascade",
        source="horovod runner, ray raylet and python exceptions, tensorflow coordination service, torch multiprocessing spawn",
    ),
    Signature(
        "rank-summary",
        "rank_failed",
        r"ChildFailedError"
        r"|CalledProcessError: Command (?!.{0,20}ninja).{0,600}(?:returned non-zero exit status (?P<exitcode>\d+)"
        r"|died with <Signals\.(?P<signal_name>\w+))"
        r"|ProcessRaisedException"
        r"|ProcessExitedException",
        role="cascade",
        source="torch elastic errors, torch.multiprocessing.spawn, cpython subprocess",
    ),
    Signature(
        "rendezvous",
        "rendezvous_failed",
        r"[Tt]he server socket has failed to listen"
        r"|server socket on \S+ has timed out"
        r"|(?<!sshd)(?:c10d"
        r"|TCPStore"
        r"|DistNetworkError"
        r"|RuntimeError"
        r"|torch"
        r"|OSError"
        r"|ray"
        r"|grpc"
        r"|coordinat\w+).{0,120}(?:EADDRINUSE|[Aa]ddress already in use)(?!\)\. *$)"
        r"|(?<!of type )(?<!\w)Rendezvous(?:Timeout|Connection|Closed)Error"
        r"|client socket has timed out after"
        r"|Dist(?:Store|Network)Error"
        r"|Timed out after \d+ seconds waiting for clients"
        r"|RuntimeError: Socket Timeout"
        r"|[Tt]imeout waiting for key: "
        r"|wait timeout after \d+ms, keys"
        r"|(?i:Barrier timed out)"
        r"|Timed out waiting for tasks to start"
        r"|[Tt]he rendezvous '\S+' has (?:failed|timed out)"
        r"|RuntimeError: (?:Connection|Broken pipe|connect\(\) timed out).{0,40}(?:TCPStore|c10d)"
        r"|RuntimeError: connect\(\) timed out"
        r"|HorovodTimeout\w+"
        r"|Tried to launch distributed communication on port"
        r"|ValueError: host not found: ",
        source="torch/csrc/distributed/c10d/socket.cpp and TCPStore.cpp, torch elastic rendezvous, tensorflow coordination service, horovod",
    ),
    Signature(  # torchrun
        "rendezvous-retry",
        "rendezvous_failed",
        r"\[c10d\] The (?:server socket has failed to bind"
        r"|client socket has failed to connect) .{0,120}errno: (?!97|99)\d+"
        r"|failed to (?:shutdown|close|finalize) the rendezvous"
        r"|failed to send a keep-alive heartbeat to the rendezvous",
        role="confirmation",
        severity="info",
        fatal=False,
        source="torch/csrc/distributed/c10d/socket.cpp: warnings of one attempt, another follows",
    ),
)
