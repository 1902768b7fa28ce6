"""Lines of GPUs, collectives, numbers, checkpoints and trackers: which classes a line names.

A line may speak of several troubles. The one underneath is named, what merely carried the
message is not; talk about a trouble is none.
"""

from __future__ import annotations

import pytest

from middlewatch.daemon.parsers.matcher import hints_of, matches
from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.sentinels.kit import LogEvent


def told(line: str) -> dict[str, str]:
    """Class → role of what the line says, without notes."""
    found = matches(line, hints_of(line.encode()).rows)
    return {row.trouble: row.role for row, _ in found if row.severity != "info"}


def events(text: str) -> list[LogEvent]:
    reader = LogReader("run.log")
    said = reader.feed(text.encode(), 7.0) + reader.finish(7.0)
    return [o for o in said if isinstance(o, LogEvent) and o.severity != "info"]


@pytest.mark.parametrize(
    ("line", "classes"),
    [
        # the collective only brought the message
        (
            "[E ProcessGroupNCCL.cpp:915] [Rank 3] NCCL watchdog thread terminated with exception: CUDA error: uncorrectable ECC error encountered",
            {"cuda_ecc"},
        ),
        (
            "[PG 0 Rank 1] Process group watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered",
            {"cuda_illegal_access"},
        ),
        (
            "torch.distributed.DistBackendError: [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.",
            {"nccl_timeout"},
        ),
        ("node:1:2 [0] misc/alloc.h:5 NCCL WARN Cuda failure 'out of memory'", {"cuda_oom"}),
        (
            "RuntimeError: NCCL Error 1: unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
            {"nccl_error"},
        ),
        ("RuntimeError: NCCL communicator was aborted on rank 1.", {"nccl_error"}),
        # one library, not its neighbour
        (
            "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            {"cublas_error"},
        ),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", {"cudnn_error"}),
        ("RuntimeError: CUDA error: device-side assert triggered", {"cuda_device_assert"}),
        ("RuntimeError: CUDA error: unspecified launch failure", {"cuda_launch_failure"}),
        ("RuntimeError: CUDA error: invalid device ordinal", {"cuda_unavailable"}),
        ("RuntimeError: CUDA error: out of memory", {"cuda_oom"}),
        (
            "XlaRuntimeError: RESOURCE_EXHAUSTED: CUDA_ERROR_OUT_OF_MEMORY: out of memory while allocating 3 bytes",
            {"accel_oom"},
        ),
        ("cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 512 bytes (allocated so far: 8 bytes)", {"cuda_oom"}),
        # the two ways a gloo pair ends
        ("RuntimeError: Application timeout caused pair closure", {"gloo_timeout"}),
        (
            "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 1800000ms for recv operation to complete",
            {"gloo_timeout"},
        ),
        (
            "RuntimeError: Gloo connectFullMesh failed with [../gloo/transport/tcp/pair.cc:144] timed out connecting: timeout",
            {"gloo_timeout"},
        ),
        (
            "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.3]:4711",
            {"gloo_error"},
        ),
        # numbers
        ("Loss is nan, stopping training", {"loss_nan"}),
        ("Loss is inf, stopping training", {"loss_inf"}),
        ("Validation loss is nan", {"val_loss_nan"}),
        ("FloatingPointError: Loss became infinite or NaN at iteration=3!", {"loss_nan"}),
        ("FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.", {"loss_scale_exhausted"}),
        ("ERROR:tensorflow:Model diverged with loss = NaN.", {"loss_nan"}),
        ("Loss exploded to 812.40000 at step 300!", {"loss_diverged"}),
        ("WARNING: The grad norm is nan. Skipping updating the model.", {"grad_nonfinite"}),
        # checkpoints
        ("RuntimeError: Error(s) in loading state_dict for Net:", {"ckpt_mismatch"}),
        ("OSError: Unable to open file (truncated file: eof = 96, sblock->base_addr = 0)", {"ckpt_corrupt"}),
        ("safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer", {"ckpt_corrupt"}),
        # stalls and trackers
        ("W horovod/common/stall_inspector.cc:107] Stalled ranks:", {"hang"}),
        ("Timeout (0:05:00)!", {"hang"}),
        ("wandb: Network error (ConnectionError), entering retry loop.", {"tracker_network_error"}),
        ("COMET ERROR: Run will not be logged", {"tracker_network_error"}),
        # other languages
        ("thread 'main' panicked at src/main.rs:3:5:", {"python_exception"}),
        ('Exception in thread "main" java.lang.IllegalStateException: no workers', {"python_exception"}),
        ("ERROR: LoadError: CUDA error: an illegal memory access was encountered (code 700)", {"cuda_illegal_access", "python_exception"}),
        ("terminate called after throwing an instance of 'c10::DistBackendError'", {"nccl_error", "python_exception"}),
    ],
)  # fmt: skip
def test_what_a_line_names(line: str, classes: set[str]) -> None:
    assert set(told(line)) == classes


@pytest.mark.parametrize(
    "line",
    [
        "INFO: CUDA_LAUNCH_BLOCKING=0, expandable_segments to avoid fragmentation",
        "tip: lower the batch size to prevent CUDA out of memory",
        "| epoch 001: loss 2.1 | oom 0 | wps 31200",
        "WARNING:tensorflow:AutoGraph could not transform <function f> and will run it as-is.",
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
        "NCCL INFO Call to connect returned Connection refused, retrying",
        "NCCL INFO comm 0x55 rank 3 nranks 8 - Destroy COMPLETE",
        "init_process_group(backend='gloo', timeout=1800 s)",
        "Backend gloo: timeout 1800 s",
        "torch.distributed: setting monitoredBarrier on",
        "lm loss: 2.1E+00 | loss scale: 65536.0 | number of skipped iterations:   0 | number of nan iterations:   0 |",
        "val_loss improved from inf to 0.31, saving model to best.h5",
        "EarlyStopping: best val_loss was 0.31",
        "loss is a weighted sum of three parts",
        "gradient clipping at 1.0; non-finite gradients: 0",
        "Overflow bucket: 3",
        "initial loss scale: 65536",
        "Saving checkpoint to out/step_3000 ...",
        "Failed to save checkpoint, retrying (1/3)",
        "could not find the metadata file out/latest_checkpointed_iteration.txt",
        "The model and loaded state dict do not match exactly",
        "size mismatch for head.weight: copying a param with shape torch.Size([81]) from checkpoint, the shape in current model is torch.Size([6]).",
        "wandb: WARNING Config item 'lr' was locked by 'sweep' (ignored update).",
        "wandb: Run data is saved locally in wandb/run-1",
        "MIOpen(HIP): Warning [SQLiteBase] Missing system database file: gfx90878.kdb",
        "INFO: Unable to initialize backend 'tpu': INTERNAL_NOT_FOUND: could not open libtpu.so",
        "This thread has been waiting for `rendezvous` for 10 seconds and may be stuck",
        "hang detection timeout: 600 s",
        "no progress bar will be shown",
        "Plan failed with a cudnnException: CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: cudnnFinalizeDescriptor Failed cudnn_status: CUDNN_STATUS_NOT_SUPPORTED",
        "LR finder stopped early after 84 steps due to diverging loss.",
        "The panic: a novel about panicked crowds",
        "Nan count 0, inf count 0",
    ],
)  # fmt: skip
def test_healthy_words(line: str) -> None:
    assert told(line) == {}


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ("RuntimeError: NCCL communicator was aborted on rank 1.", "cascade"),
        ("ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.", "cascade"),
        ("Some NCCL operations have failed or timed out.", "confirmation"),
        ("RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1269, unhandled system error, NCCL version 2.14.3", "root"),
    ],
)  # fmt: skip
def test_fallout_of_other_ranks_is_no_root(line: str, role: str) -> None:
    assert list(told(line).values()) == [role]


def test_overflow_is_a_note_that_carries_its_scale() -> None:
    reader = LogReader("run.log")
    lines = (
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n"
        "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 32.0\n"
        "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 16384.0\n"
    )
    found = [o for o in reader.feed(lines.encode(), 7.0) if isinstance(o, LogEvent)]
    assert [(e.trouble, e.severity) for e in found] == [("overflow_skip", "info")] * 3
    assert [e.details["loss_scale"] for e in found] == [32768.0, 32.0, 16384.0]
    assert found[0].details["attempted"] == "65536"


def test_a_traceback_that_names_a_gloo_timeout() -> None:
    (event,) = events(
        'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    dist.barrier()\n'
        "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 600000ms for recv operation to complete\n"
    )
    assert (event.trouble, event.fatal, event.details["exception"]) == (
        "gloo_timeout",
        True,
        "RuntimeError",
    )


def test_java_is_not_taken_for_a_python_thread() -> None:
    text = 'Exception in thread "main" java.lang.IllegalStateException: no workers\n\tat a.B.main(B.java:3)\n'
    assert [e.trouble for e in events(text)] == ["python_exception"]
