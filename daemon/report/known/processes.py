"""Messages about several processes: ranks, workers, pickling, ports."""

from __future__ import annotations

ROWS: tuple[tuple[str, str], ...] = (
    (
        r"NET/IB.{0,80}(?:[Gg]ot completion|status=\d+|error|failed)|ibv_\w+ failed|vendor err \d+",
        ("see whether the InfiniBand port of that node, and of the peer that the line names, is well (`ibstat`, `ibv_devinfo`, `perfquery` for error counters; cable and "
        "switch port): take the bad one out, and resume from the newest save"),
    ),
    (
        r"Duplicate GPU detected",
        ("two ranks have taken the same GPU: choose it by LOCAL_RANK (`torch.cuda.set_device(local_rank)` before the process group); "
        "under srun that is SLURM_LOCALID, and each task must see all GPUs of its node"),
    ),
    (
        r"[Rr]eceived data size doesn't match expected size|collective mismatch|Detected mismatch between collectives",
        ("the ranks called different collectives: usually one has fewer batches than the others. Give each the same number (even "
        "shards, `drop_last=True`, or DDP's Join), and look for a branch that only one rank takes"),
    ),
    (
        r"environment variable (?:RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT|LOCAL_RANK) expected, but not set|KeyError: '(?:LOCAL_RANK|RANK|WORLD_SIZE|MASTER_ADDR)'",
        "start it with a launcher that sets the ranks (`torchrun --nproc-per-node=N SCRIPT`, `accelerate launch`), not with python; under srun set them from SLURM_PROCID, SLURM_NTASKS and SLURM_LOCALID",
    ),
    (
        r"Default process group has not been initialized",
        "call `torch.distributed.init_process_group` before it (and start with torchrun), or leave the distributed part out when there is one process",
    ),
    (
        r"Address already in use|EADDRINUSE|address already in use|[Ff]ailed to bind|server socket has failed to (?:listen|bind)",
        "find who has the port (`ss -ltnp`): often an earlier start of the same job that still lives. End it if it is yours, or choose another port (`--master-port`, `--rdzv-endpoint=localhost:0`)",
    ),
    (
        r"invalid device ordinal|CUDA error: invalid device",
        "compare how many GPUs the process sees with how many ranks there are on this box (`nvidia-smi -L`, CUDA_VISIBLE_DEVICES, `--nproc-per-node`), and use LOCAL_RANK, not RANK, for the device",
    ),
    (
        r"Cannot re-initialize CUDA in forked subprocess",
        "a worker uses the GPU: keep CUDA out of Dataset and collate_fn, or start workers with `multiprocessing_context='spawn'`",
    ),
    (
        r"before the\s+current process has finished its bootstrapping",
        "put the start of the program under `if __name__ == '__main__':`: where processes are spawned (Windows, macOS), each one imports the file again",
    ),
    (
        r"Can't (?:pickle|get) local (?:object|attribute) '?(?:[\w.<>]{1,100})|[Cc]an't pickle <function (?:[\w.<>]{1,100})|[Cc]annot pickle '(?:[\w. ]{1,60})' object",
        "what goes to a worker cannot be pickled: move functions (collate_fn, transforms, lambdas) to the top level of a module, open files and connections in the worker, or use `num_workers=0`",
    ),
    (
        r"daemonic processes are not allowed to have children",
        "a loader worker starts processes of its own: set the inner number of workers to 0, or do that work before the training",
    ),
    (
        r"Timed out waiting for clients|wait timeout after|TCPStore.{0,120}timed? ?out|DistStoreError|rendezvous.{0,80}(?:timed? ?out|closed)",
        "find the rank or node that did not come: compare how many were started with the world size, see whether MASTER_ADDR and its port are reached from each node (`nc -vz ADDRESS PORT`), and read the log of the missing one",
    ),
    (
        r"Broken pipe|BrokenPipeError",
        "find out why the one that read from it ended, a worker, a parent or a `| command`: its own last lines stand before this one or in its log",
    ),
)  # fmt: skip
