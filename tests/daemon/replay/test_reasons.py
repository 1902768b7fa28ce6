"""The reason behind an end, where the lines before it show one."""

from __future__ import annotations

from typing import Any

import pytest

from middlewatch.daemon.replay.before_it import NOTHING, alike, before_it
from middlewatch.daemon.replay.one_log import Replay, ReplayRules
from middlewatch.daemon.replay.stood import apart, raised_at, stood
from middlewatch.sentinels.kit import discover

SENTINELS = discover()


def replayed(text: str) -> tuple[Replay, dict[str, Any], list[dict[str, Any]]]:
    bugs: list[str] = []
    replay = Replay("a.log", ReplayRules(SENTINELS, {}, bugs.append))
    *found, end = replay.read([text.encode()], metrics=False)
    assert not bugs
    return replay, end, found


LOCKED = """\
[rank0]: Traceback (most recent call last):
[rank0]:   File "/root/lm/ddp_lm.py", line 14, in <module>
[rank0]:     with FileLock(cache + ".lock"):
[rank0]:   File "/opt/lib/python3.11/site-packages/filelock/_api.py", line 969, in __enter__
[rank0]:     self.acquire()
[rank0]:   File "/opt/lib/python3.11/site-packages/filelock/_api.py", line 1258, in _poll_until_acquired
[rank0]:     time.sleep(delay)
[rank0]: KeyboardInterrupt
[rank1]: Traceback (most recent call last):
[rank1]:   File "/root/lm/ddp_lm.py", line 18, in <module>
[rank1]:     dist.barrier()
[rank1]:   File "/opt/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 5356, in barrier
[rank1]:     work.wait()
[rank1]: KeyboardInterrupt
"""


def test_where_it_stood_when_somebody_stopped_it() -> None:
    replay, end, _ = replayed("process group ready\n" + LOCKED)
    assert end["cause"] == "interrupted"
    where, step = stood(replay.case.view.events)
    assert where == "it stood in __enter__ (filelock/_api.py), called at line 14 of ddp_lm.py"
    assert "lsof LOCK" in step


def test_a_plain_ctrl_c_stood_nowhere() -> None:
    replay, _, _ = replayed("step 1 loss 2.0\nstep 2 loss 1.9\nKeyboardInterrupt\n")
    assert stood(replay.case.view.events) == ("", "")


CHAIN = """\
Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/torch/library.py", line 493, in impl
    if torch._C._dispatch_has_kernel_for_dispatch_key(
RuntimeError: operator torchvision::nms does not exist

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/w/train.py", line 5, in <module>
    from transformers import EarlyStoppingCallback
  File "/opt/lib/python3.11/site-packages/transformers/utils/import_utils.py", line 2810, in __getattr__
    raise ModuleNotFoundError(import_error_message) from e
ModuleNotFoundError: Could not import module 'EarlyStoppingCallback'. Are this object's requirements defined correctly?
"""


def test_the_first_exception_of_a_chain_is_the_cause() -> None:
    _, end, found = replayed(CHAIN)
    assert end["cause"] == "python_exception"
    (one,) = (f for f in found if f["class"] == "python_exception")
    assert one["evidence"].startswith("RuntimeError: operator torchvision::nms")
    assert one["details"]["chain_ends"] == 13


GRAPH = """\
Traceback (most recent call last):
  File "/w/fit.py", line 15, in <module>
    m.fit(tr)
tensorflow.python.framework.errors_impl.InvalidArgumentError: Graph execution error:

Detected at node decode_image/DecodeImage defined at (most recent call last):
<stack traces unavailable>
Unknown image file format. One of JPEG, PNG required.
\t [[{{node decode_image/DecodeImage}}]]
"""


def test_the_message_below_graph_execution_error() -> None:
    _, _, found = replayed(GRAPH)
    assert found[0]["details"]["message"].endswith(
        "Unknown image file format. One of JPEG, PNG required."
    )


BARRIER = """\
step 20/400 loss 0.65
step 40/400 loss 0.60
Traceback (most recent call last):
  File "/w/train.py", line 22, in <module>
    assert x.shape == (64, 32)
AssertionError: bad batch at row 8960
E1127 22:22:58.772578 19060 coordination_service.cc:1520] Shutdown barrier in coordination service has failed:
DEADLINE_EXCEEDED: Barrier timed out. Id: Shutdown::165::0. This usually happens because a task triggered the barrier too early or too slowly.
"""


def test_a_barrier_that_waits_for_a_rank_that_has_raised() -> None:
    _, end, _ = replayed(BARRIER)
    assert end["cause"] == "python_exception"


def test_memory_that_grew_until_the_kill() -> None:
    lines = [f"epoch {n} loss 0.{90 - n} rss {1 + 0.5 * n:.2f} GB" for n in range(8)]
    numbered = list(enumerate([*lines, "run.sh: line 3: 19635 Killed    python t.py"], 1))
    shown, step = before_it("process_killed", 9, numbered)
    assert shown == "rss rose from 1.00 GB to 4.50 GB"
    assert step.startswith(f"stop the growth: {shown}")
    assert before_it("python_exception", 9, numbered) == NOTHING
    flat = [(n, f"epoch {n} rss 1.{n % 3} GB") for n in range(1, 9)]
    assert before_it("process_killed", 9, flat) == NOTHING
    gpu = [(n, f"epoch {n} gpu memory {n}.0 GB") for n in range(1, 9)]
    assert before_it("process_killed", 9, gpu) == NOTHING


def test_the_warning_of_numpy_before_a_nan() -> None:
    tail = [
        (1, "/w/env.py:18: RuntimeWarning: invalid value encountered in divide"),
        (2, "  w = (w - w.mean()) / w.std()"),
    ]
    shown, step = before_it("loss_nan", 9, tail)
    assert shown == "/w/env.py:18: invalid value encountered in divide"
    assert step.startswith("guard line 18 of /w/env.py")
    assert before_it("loss_nan", 1, tail) == NOTHING


def test_the_host_of_a_network_error() -> None:
    text = (
        "step 1 loss 2.0\nHEAD https://huggingface.co/x/resolve/main/config.json failed\n"
        'Traceback (most recent call last):\n  File "/w/t.py", line 3, in <module>\n    load()\n'
        "httpx.ConnectError: [Errno -2] Name or service not known\n"
    )
    _, _, found = replayed(text)
    (one,) = (f for f in found if f["class"] == "network_error")
    assert one["evidence"].endswith("(host: huggingface.co)")


WATCHDOG = "[rank{0}]:[E1125 00:42:28 ProcessGroupNCCL.cpp:2262] [PG ID 0 Rank {0}] failure detected by watchdog at work sequence id: 13 PG status: last enqueued work: {1}, last completed work: 12"


def test_the_rank_that_did_not_come() -> None:
    late = list(enumerate((WATCHDOG.format(rank, 12 if rank == 2 else 57) for rank in range(4)), 1))
    shown, step = before_it("nccl_timeout", 1, late)
    assert shown == "rank 2 enqueued no work after 12, the others went on to 57"
    assert step.startswith("find what rank 2 did")
    assert before_it("nccl_timeout", 1, late[:1]) == NOTHING
    assert before_it("nccl_timeout", 1, [(n, WATCHDOG.format(n, 57)) for n in range(4)]) == NOTHING


def test_a_log_that_ends_with_the_same_complaint() -> None:
    waits = [
        (n, f"[Warning] Connecting to rank 1 failed, waiting for {n * 113} milliseconds")
        for n in range(1, 9)
    ]
    assert alike([(0, "loading"), *waits])[0] == 8
    assert alike(waits[:4]) == (0, "")
    assert alike([(n, f"step {n} loss 0.{n}") for n in range(1, 9)]) == (0, "")
    assert alike([]) == (0, "")


OFFLINE = """\
Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/transformers/utils/hub.py", line 402, in cached_files
    hf_hub_download(path)
huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files in the disk cache and outgoing traffic has been disabled. To enable hf.co look-ups and downloads online, set 'local_files_only' to False.

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/w/tune.py", line 12, in <module>
    model = AutoModel.from_pretrained("models/base-v3")
OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.
"""


def test_no_network_was_asked_with_the_hub_switched_off() -> None:
    _, end, _ = replayed(OFFLINE)
    assert end["cause"] == "python_exception"
    _, end, _ = replayed(
        OFFLINE.replace(" and outgoing traffic has been disabled", ". Please check your connection")
    )
    assert end["cause"] == "network_error"


FELL_BACK = """\
Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/yolo/data.py", line 288, in load_or_scan
    cache = load(path)
FileNotFoundError: [Errno 2] No such file or directory: '/data/labels/train.cache'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/root/train.py", line 7, in <module>
    model.train(data="bolts.yaml")
  File "/opt/lib/python3.11/site-packages/yolo/data.py", line 161, in cache_labels
    raise ValueError("No labels found")
ValueError: train: No labels found in /data/labels
"""


def test_what_came_on_the_other_way_is_the_cause() -> None:
    """A cache that is not there sends the program another way, on which it fails."""
    replay, end, found = replayed(FELL_BACK)
    assert end["cause"] == "python_exception"
    (one,) = (f for f in found if f["fatal"])
    assert one["summary"] == "ValueError: train: No labels found in /data/labels"
    assert replay.troubles[0][0].first.line == 13
    caused = FELL_BACK.replace(
        "During handling of the above exception, another exception occurred:",
        "The above exception was the direct cause of the following exception:",
    )
    (one,) = (f for f in replayed(caused)[2] if f["fatal"])
    assert one["summary"].startswith("FileNotFoundError")


def test_the_line_of_the_program() -> None:
    (event,) = (e for e in replayed(FELL_BACK[FELL_BACK.index("During") :])[0].case.view.events)
    assert raised_at(event.details) == 'line 7 of train.py: model.train(data="bolts.yaml")'


def rank_trace(rank: int, line: int, code: str, message: str) -> str:
    said = f"""\
Traceback (most recent call last):
  File "/root/train.py", line {line}, in <module>
    {code}
  File "/opt/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 5356, in barrier
    work.wait()
RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] {message}
"""
    return "".join(f"[rank{rank}]: {one}\n" for one in said.splitlines())


def test_ranks_that_stood_apart() -> None:
    closed = "Connection closed by peer [127.0.0.1]:23958"
    events = replayed(
        rank_trace(0, 52, "loss.backward()", closed)
        + rank_trace(1, 61, "dist.barrier()", "Timed out waiting 30000ms for recv operation")
    )[0].case.view.events
    words, step = apart(events)
    assert words == (
        "rank 0: line 52 of train.py: loss.backward(); rank 1: line 61 of train.py: dist.barrier()"
    )
    assert "the same number of steps" in step
    same = rank_trace(0, 52, "loss.backward()", closed) + rank_trace(
        1, 52, "loss.backward()", closed
    )
    assert apart(replayed(same)[0].case.view.events) == ("", "")


@pytest.mark.parametrize(
    ("opening", "rate"),
    [
        ("{'lr': 8.0, 'epochs': 20}", "8"),
        ("Starting training: 3000 steps, lr schedule linear 0.0001 -> 0.9", "0.9"),
        ("learning_rate=1.5 warmup=10", "1.5"),
        ("--base-lr 0.1 lr: 0.3", ""),
        ("epoch 3 lr_scheduler: 10 steps, colr=7", ""),
    ],
)
def test_a_learning_rate_that_is_too_high(opening: str, rate: str) -> None:
    words, step = before_it("loss_nan", 9, [], opening)
    assert words == (f"the settings say a learning rate of {rate}" if rate else "")
    assert (f"learning rate, {rate} by the settings" in step) == bool(rate)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rss main {0}.0 GB, workers {1}.5 GB", "rss workers rose from 3.5 GB to 27.5 GB"),
        ("step {0} RSS={1}00 MB", "rss rose from 300 MB to 2700 MB"),
        ("mem used: {1} GiB (gpu 3 GiB)", ""),
        ("memory bank of {1} entries", ""),
    ],
)
def test_the_memory_that_a_line_reports(line: str, words: str) -> None:
    tail = [(n, line.format(n, 3 + 3 * n)) for n in range(9)]
    assert before_it("cgroup_oom_kill", 99, tail)[0] == words


CELL = """\
KeyError                                  Traceback (most recent call last)
Cell In[5], line 3
      1 model.fit(X, y)
      2 weather = pd.read_csv('weather.csv')
----> 3 merged = df.merge(weather, on='date')
      4 print(merged.shape)

File /opt/conda/lib/python3.11/site-packages/pandas/core/frame.py:16192, in DataFrame.merge(self, right)
  16190         from pandas.core.reshape.merge import merge
> 16192         return merge(

KeyError: 'date'
"""


def test_the_line_of_a_cell() -> None:
    (event,) = replayed(CELL)[0].case.view.events
    assert raised_at(event.details) == "line 3 of Cell In[5]: merged = df.merge(weather, on='date')"


def test_the_silence_before_somebody_stopped_it() -> None:
    lines = [f"01:56:{n:02d} [0] step {n}/200 loss 1.0" for n in range(20, 36)]
    lines += ["01:56:36 [0] running validation on rank 0", "^C 01:57:10 received SIGINT"]
    words, step = before_it("interrupted", len(lines), list(enumerate(lines, 1)))
    assert words == "nothing came for 34 s after: 01:56:36 [0] running validation on rank 0"
    assert "py-spy dump" in step
    soon = [*lines[:-1], "^C 01:56:40 received SIGINT"]
    assert before_it("interrupted", len(soon), list(enumerate(soon, 1))) == NOTHING
    bars = [f"{n}/15 0:00:{n:02d} • 0:01:00" for n in range(15)]
    assert before_it("interrupted", 15, list(enumerate(bars, 1))) == NOTHING


SRUN = """\
srun: error: gn041: task 0: Exited with exit code 1
srun: Terminating StepId=7710243.0
slurmstepd: error: *** STEP 7710243.0 ON gn041 CANCELLED AT 2026-03-14T03:11:50 ***
"""


def test_a_step_that_srun_takes_down_after_torchrun_told_of_it() -> None:
    raised = rank_trace(0, 52, "loss.backward()", "Timed out waiting 30000ms for recv operation")
    launcher = (
        "E0314 03:11:50.702000 48211 torch/distributed/elastic/multiprocessing/api.py:874] failed "
        "(exitcode: -6) local_rank: 0 (pid: 48277) of binary: /opt/venv/bin/python\n"
    )
    assert replayed(raised + launcher + "\n" * 20 + SRUN)[1]["cause"] == "gloo_timeout"
    alone = "step 1 loss 2.0\n" + SRUN[SRUN.index("slurmstepd") :]
    assert replayed(alone)[1]["cause"] == "slurm_cancelled"


def test_a_bar_that_is_drawn_again_and_again_in_one_line() -> None:
    """What was finite in it came before the NaN, though all of it is one line of the log."""
    drawn = [f"{n}/50 0s 22ms/step - loss: {8401 + n * 100}.5" for n in range(1, 6)]
    drawn += [f"{n}/50 0s 22ms/step - loss: nan" for n in range(6, 12)]
    _, _, found = replayed("Epoch 1/8\n" + "\r".join(drawn) + "\n")
    (one,) = (f for f in found if f["class"] == "loss_nan")
    assert one["line"] == 2
    replay = replayed("Epoch 1/8\n" + "\r".join(drawn) + "\n")[0]
    (trouble,) = (t for t, _ in replay.troubles if t.newest.trouble == "loss_nan")
    assert "the loss began at 8" in trouble.newest.remedy


def test_what_one_rank_did_while_the_others_waited() -> None:
    lines = ["rank0: epoch 0 step 40 loss 6.2", "rank0: eval 300/600"]
    trace = rank_trace(1, 28, "dist.barrier()", "Timed out waiting 20000ms").splitlines()
    tail = list(enumerate([*lines, *trace], 1))
    words, step = before_it("gloo_timeout", len(tail), tail)
    assert words == "the last line was: rank0: eval 300/600"
    assert "`init_process_group`" in step
    assert before_it("gloo_timeout", len(tail) - 1, tail[:1] + tail[2:]) == NOTHING


def test_what_only_passes_a_call_on_is_not_where_it_stood() -> None:
    waited = """\
Traceback (most recent call last):
  File "/root/asr.py", line 22, in <module>
    for batch in tqdm(loader):
  File "/opt/lib/python3.11/site-packages/tqdm/std.py", line 1181, in __iter__
    for obj in iterable:
  File "/opt/lib/python3.11/site-packages/torch/utils/data/dataloader.py", line 701, in __next__
    data = self._next_data()
KeyboardInterrupt
"""
    words, step = stood(replayed("step 1 loss 2.0\n" + waited)[0].case.view.events)
    assert words == "it stood in __next__ (data/dataloader.py), called at line 22 of asr.py"
    assert "loader workers" in step
