"""The first step for a finished log, where its evidence asks for one of its own."""

from __future__ import annotations

import pytest

from middlewatch.daemon.report.first_steps import first_step_in_log


@pytest.mark.parametrize(
    ("trouble", "text", "step"),
    [
        ("process_killed", "srun: error: gpu3: task 0: exit code 137", "free -g"),
        ("process_killed", "exitcode  : -9 (pid: 4711)", "free -g"),
        ("slurm_cancelled", "TERM_OWNER: job killed by owner.", "bhist -l"),
        ("cgroup_oom_kill", "TERM_MEMLIMIT: job killed after reaching LSF memory limit", "bsub -M"),
        ("cgroup_oom_kill", "=>> PBS: job killed: vmem 70000000kb exceeded limit", "qsub -l mem"),
        (
            "launch_error",
            "python3: can't open file '/home/u/my_script.py': [Errno 2] No such file or directory",
            "namei /home/u/my_script.py",
        ),
        (
            "python_exception",
            "Check failed: Unknown layer type: AllPass (known types: AbsVal)",
            "grep -rnF -- 'AllPass' .",
        ),
        ("process_killed", "died with <Signals.SIGKILL: 9>.", "free -g"),
        ("process_killed", "./train.sh: line 33: 136834 Killed   python3 main.py", "free -g"),
        ("dataloader_worker_killed", "worker (pid 6) is killed by signal: Killed.", "free -g"),
        (
            "dataloader_worker_killed",
            "worker (pid 6) is killed by signal: Bus error.",
            "df -h /dev/shm",
        ),
        (
            "dataloader_worker_killed",
            "Unexpected segmentation fault encountered in worker.",
            "faulthandler",
        ),
        ("nccl_error", "HCCL function error: HcclCommInitRootInfo, error code is 2", "ascend/log"),
        ("tracker_network_error", "wandb: ERROR API key must be 40 characters", "wandb login"),
        ("launch_error", "ModuleNotFoundError: No module named 'trl'", "python -m pip show trl"),
        ("launch_error", "ModuleNotFoundError: No module named 'src.data'", "pip show src`"),
        (
            "python_exception",
            "FileNotFoundError: [Errno 2] No such file or directory: '${root_dir}/bin/python'",
            "grep -rnF -- 'root_dir' .",
        ),
        (
            "python_exception",
            'Exception in thread "main" InvocationTargetException (because: LoggingException: two)',
            "sed -n '40,120p' LOG",
        ),
        ("rank_failed", "train.py exited with status 152", "ulimit -t"),
        ("rank_failed", "exitcode: -25", "ulimit -f"),
        ("sigterm_received", "the job ended with exit code 129", "middlewatch run --"),
        ("sigterm_received", "SignalException: Process 99 got signal: 1", "middlewatch run --"),
        (
            "sigterm_received",
            "forrtl: error (200): program aborting due to window-CLOSE event",
            "middlewatch run --",
        ),
        (
            "launch_error",
            "train.py: error: argument --lr: invalid float value",
            "correct the command",
        ),
        ("launch_error", "error: unrecognized arguments: --bsz 4", "correct the command"),
        ("python_exception", "KeyError: 'image'", "sed -n '28,44p' LOG"),
        (
            "rank_failed",
            "job failed with status 143, log is in exp/tdnn/log/train.0.1.log",
            "exp/tdnn/log/train.0.1.log`",
        ),
        (
            "python_exception",
            "a worker died; see the log file '/tmp/ray/worker-3.out' for details",
            "/tmp/ray/worker-3.out`",
        ),
        (
            "cuda_unavailable",
            "CUDA error: no kernel image is available for execution on the device",
            "get_arch_list",
        ),
        ("cuda_unavailable", "RuntimeError: No CUDA GPUs are available", "nvidia-smi -L"),
        ("host_alloc_failed", "The worker may have exceeded K8s pod memory limits", "free -g"),
        ("cudnn_error", "RuntimeError: miopenStatusInternalError", "sed -n '28,44p' LOG"),
    ],
)
def test_it_follows_the_evidence(trouble: str, text: str, step: str) -> None:
    assert step in first_step_in_log(trouble, 40, text)


def test_a_traceback_is_shown_from_its_head_to_its_end() -> None:
    short, long = {"traceback_line": 31}, {"traceback_line": 9}
    assert "sed -n '31,44p' LOG" in first_step_in_log(
        "python_exception", 40, "KeyError: 'x'", short
    )
    assert "sed -n '320,404p' LOG" in first_step_in_log(
        "python_exception", 400, "KeyError: 'x'", long
    )


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (
            "train.py:137 in step",
            "line 137 of train.py (in step), where your own code was: `sed -n '132,139p' train.py`",
        ),
        (
            "src/a/data.py:2 in <module>",
            "(at its top level), where your own code was: `sed -n '1,4p' src/a/data.py`",
        ),
        (
            r"C:\Users\li wei\train.py:9 in main",
            r"line 9 of C:\Users\li wei\train.py (in main), where your own code was; the way",
        ),
        ("Cell In[3]:4 in f", "sed -n '31,44p' LOG"),
        ("/x/$(id).py:4 in f", "from the last frame in a file of your own on"),
        ("`id`.py:4 in f", "from the last frame in a file of your own on"),
    ],
)
def test_the_place_in_the_program_s_own_code_is_named(frame: str, said: str) -> None:
    details = {"traceback_line": 31, "frame": frame}
    step = first_step_in_log("python_exception", 40, "ValueError: x", details)
    assert said in step
    assert "$(" not in step


@pytest.mark.parametrize("path", ["/x$(id)", "/x`id`/y.py", "a;id.py", "/x|id"])
def test_nothing_that_a_log_names_becomes_a_command(path: str) -> None:
    said = f"python3: can't open file '{path}': [Errno 2] No such file or directory"
    assert path not in first_step_in_log("launch_error", 40, said)
    assert "$" not in first_step_in_log("python_exception", 40, f"Unknown layer type: {path}")


@pytest.mark.parametrize(
    ("trouble", "text"),
    [
        ("cuda_oom", "torch.OutOfMemoryError: Tried to allocate 152 MiB"),
        ("cuda_oom", "CUDA out of memory after step 153 of 9000"),
        ("sigterm_received", "SIGTERM at step 129 of 500"),
        ("process_killed", "worker-91 of 1370 was killed"),
        ("host_alloc_failed", "MemoryError: Unable to allocate 900. KiB for an array"),
        ("cudnn_error", "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"),
    ],
)
def test_a_number_that_is_no_exit_status_asks_for_nothing(trouble: str, text: str) -> None:
    assert first_step_in_log(trouble, 40, text, {"traceback_line": 12}) == ""
