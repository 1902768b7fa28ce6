"""What a silent run is told to wait for: every row of the evidence, and every healthy one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from middlewatch.sentinels.hang import Limits
from middlewatch.sentinels.kit import Finding, ProcessSample, Severity, StackSeen
from middlewatch.sentinels.kit.pace.suspects import suspects

from .story import MIB, Story, sample, samples

ALL_REDUCE = (
    "all_reduce (torch/distributed/distributed_c10d.py:2810)",
    "wrapper (torch/distributed/c10d_logger.py:81)",
    "sync_gradients (train.py:212)",
    "main (train.py:300)",
)
LOADER = (
    "select (python/selectors.py:415)",
    "wait (python/multiprocessing/connection.py:1136)",
    "poll (python/multiprocessing/connection.py:257)",
    "get (python/multiprocessing/queues.py:113)",
    "_try_get_data (torch/utils/data/dataloader.py:1251)",
    "_next_data (torch/utils/data/dataloader.py:1412)",
    "__next__ (torch/utils/data/dataloader.py:701)",
    "main (train.py:40)",
)
BACKWARD = (
    "_engine_run_backward (torch/autograd/graph.py:823)",
    "backward (torch/_tensor.py:581)",
    "main (train.py:210)",
)
LOOP = ("search (tokens.py:52)", "main (train.py:90)")


def own(frames: tuple[str, ...]) -> int:
    return next((i for i, frame in enumerate(frames) if "/" not in frame), 0)


def look(story: Story, frames: tuple[str, ...], pid: int = 100, **more: Any) -> None:
    given = {"own": own(frames), **more}
    story.stacks.append(StackSeen(story.now, pid, frames, **given))


def told(story: Story) -> Finding:
    (finding,) = story.asks("hang")
    return finding


def ranks(count: int, **more: Any) -> tuple[ProcessSample, ...]:
    return tuple(sample(pid=200 + n, rank=n, **more) for n in range(count))


def spin(story: Story, seconds: int, *lines: int, gil: bool = True, **more: Any) -> Story:
    """A process that burns a core; every five seconds its stack is taken."""
    story.train(60)
    for turn in range(seconds // 5):
        story.lives(5, 1.0, 0.0, *more.get("processes", samples("R")))
        if story.now - story.marks[-1][0] >= 60:
            line = lines[turn % len(lines)]
            frames = (f"search (tokens.py:{line})", *LOOP[1:])
            look(story, frames, active=True, gil=gil)
    return story


# -- collectives -------------------------------------------------------------------------------


def test_seven_ranks_in_all_reduce_and_one_in_its_loader(story: Story) -> None:
    story.train(60).idle(80, *ranks(8, wchan="futex_do_wait"))
    for rank in range(8):
        look(story, LOADER if rank == 3 else ALL_REDUCE, 200 + rank, rank=rank)
    finding = told(story)
    assert finding.severity is Severity.CRITICAL
    assert finding.details["verdict"] == "collective"
    assert finding.details["odd"] == [3]
    where = "DataLoader.__next__ at train.py:40"
    assert finding.summary.endswith(f"the run waits in a collective for rank 3 (in {where})")
    stacks = [e.text for e in finding.evidence if e.kind == "stack"]
    assert stacks[0] == f"7 ranks in all_reduce at train.py:212, rank 3 in {where}"
    assert stacks[1].startswith("rank 3: select (python/selectors.py:415) < wait")
    assert finding.remedy.startswith("look at rank 3 first: py-spy dump --pid 203")


def test_all_ranks_in_one_collective(story: Story) -> None:
    story.train(60).idle(80, *ranks(2))
    for rank in range(2):
        look(story, ALL_REDUCE, 200 + rank, rank=rank)
    finding = told(story)
    assert finding.details["verdict"] == "collective"
    assert "odd" not in finding.details
    assert "waits in a collective (all_reduce at train.py:212)" in finding.summary


def test_ranks_in_different_collectives(story: Story) -> None:
    other = ("broadcast (torch/distributed/distributed_c10d.py:2500)", "save (train.py:90)")
    story.train(60).idle(80, *ranks(2))
    look(story, ALL_REDUCE, 200, rank=0)
    look(story, other, 201, rank=1)
    both = "(all_reduce at train.py:212; broadcast at train.py:90)"
    assert f"waits in different collectives {both}" in told(story).summary
    story = Story().train(60).idle(80, *ranks(4))
    for rank in range(4):
        look(story, other if rank == 2 else ALL_REDUCE, 200 + rank, rank=rank)
    assert told(story).details["odd"] == [2]


def test_the_one_rank_of_many_that_lives_here(story: Story) -> None:
    story.run(world_size=16).train(60).idle(80, *ranks(1))
    look(story, BACKWARD, 200, rank=0)
    assert told(story).details["verdict"] == "collective"
    assert "backward" in told(story).summary


def test_one_rank_loops_and_the_others_wait_for_it(story: Story) -> None:
    two = (sample(pid=201, rank=1, state="R"), sample(pid=200, rank=0))
    story.train(60)
    for _ in range(25):
        story.lives(5, 1.0, 0.0, *two)
        if story.now - story.marks[-1][0] >= 60:
            look(story, LOOP, 201, rank=1, active=True, gil=True)
            look(story, ALL_REDUCE, 200, rank=0)
    finding = told(story)
    assert (finding.details["verdict"], finding.details["odd"]) == ("collective", [1])
    assert finding.severity is Severity.CRITICAL


def test_without_stacks_the_kernel_tells_the_odd_rank(story: Story) -> None:
    waiting = ranks(4, wchan="futex_do_wait")
    lone = sample(pid=202, rank=2, wchan="hrtimer_nanosleep")
    story.train(60).source("stacks", "unsupported", 9, "ptrace is refused")
    story.idle(80, *waiting[:2], lone, waiting[3])
    finding = told(story)
    assert finding.details["verdict"] == "collective"
    assert "3 of 4 ranks sleep in futex_do_wait, rank 2 in hrtimer_nanosleep" in finding.summary
    assert "judged without stacks: ptrace is refused" in [e.text for e in finding.evidence]
    assert "look at rank 2 first" in finding.remedy


def test_two_ranks_without_stacks(story: Story) -> None:
    """The one in a lock waits for the other one."""
    first, second = sample(pid=200, rank=0, wchan="futex_do_wait"), sample(pid=201, rank=1)
    story.train(60).idle(80, first, sample(pid=201, rank=1, wchan="hrtimer_nanosleep"))
    assert "rank 1 in hrtimer_nanosleep" in told(story).summary
    story.idle(40, first, second)
    assert told(story).details["verdict"] == "idle", "one of them is not known"
    story.idle(40, *ranks(2, wchan="futex_do_wait"))
    assert told(story).details["verdict"] == "idle"
    others = (sample(pid=200, rank=0, wchan="pipe_read"), sample(pid=201, rank=1, wchan="poll"))
    assert told(story.idle(40, *others)).details["verdict"] == "idle"


# -- one process -------------------------------------------------------------------------------


def test_a_loader_whose_worker_sleeps(story: Story) -> None:
    family = (sample(wchan="poll_schedule_timeout"), sample(pid=101, ppid=100))
    story.train(60).idle(80, *family)
    finding = told(story)
    assert finding.details["verdict"] == "input"
    assert "waits for its 1 children, which sleep" in finding.summary
    look(story, LOADER)
    finding = told(story)
    assert finding.details["verdict"] == "input"
    assert "waits for its data (DataLoader.__next__ at train.py:40)" in finding.summary
    assert "/dev/shm" in finding.remedy


def test_a_lock(story: Story) -> None:
    story.train(60).idle(80, *samples(wchan="futex_do_wait"))
    finding = told(story)
    assert finding.details["verdict"] == "lock"
    assert "does nothing at all: it waits for a lock" in finding.summary
    look(story, ("wait (python/threading.py:359)", "flush (tracker.py:7)", "main (train.py:9)"))
    assert "waits for a lock (wait at tracker.py:7)" in told(story).summary


def test_a_socket(story: Story) -> None:
    story.train(60).idle(80, *samples(wchan="wait_woken"))
    look(story, ("readinto (python/socket.py:718)", "upload (hub.py:30)"))
    finding = told(story)
    assert finding.details["verdict"] == "idle"
    assert "does nothing at all (readinto at hub.py:30)" in finding.summary


def test_a_shell_around_it_is_no_trainer(story: Story) -> None:
    shell = sample(name="bash", wchan="do_wait")
    child = sample(pid=101, ppid=100, wchan="futex_do_wait")
    assert told(story.train(60).idle(80, shell, child)).details["verdict"] == "lock"


# -- spinning ----------------------------------------------------------------------------------


def test_an_endless_loop_warns_and_then_wakes(story: Story) -> None:
    finding = told(spin(story, 80, 52, 53))
    assert finding.severity is Severity.WARNING
    assert finding.details["verdict"] == "spin"
    assert "spins: it burns CPU at one place in 5 of 5 stacks" in finding.summary
    assert "(search at tokens.py:5" in finding.summary
    finding = told(spin(Story(), 120, 52, 53))
    assert (finding.severity, finding.fatal) == (Severity.CRITICAL, True)


def test_a_library_that_computes_for_minutes_wakes_nobody(story: Story) -> None:
    """Without the interpreter's lock it may be a dear call that returns."""
    assert spin(story, 80, 52, gil=False).asks("hang") == []
    assert told(spin(Story(), 120, 52, gil=False)).severity is Severity.WARNING


def test_an_evaluation_burns_cpu_at_changing_places(story: Story) -> None:
    assert spin(story, 300, 52, 90, 130).asks("hang") == []
    story = Story().train(60)
    for turn in range(40):
        story.lives(5, 1.0, 0.0, *samples("R"))
        look(story, (f"layer{turn % 4} (model.py:52)", *LOOP[1:]), active=True, gil=True)
    assert story.asks("hang") == []


def test_two_looks_are_too_few(story: Story) -> None:
    spin(story, 120, 52)
    story.stacks = story.stacks[-2:]
    assert story.asks("hang") == []


def test_a_process_that_rests_does_not_spin(story: Story) -> None:
    story.train(60)
    for _ in range(30):
        story.lives(5, 0.4, 0.0)
        look(story, LOOP, active=True, gil=True)
    assert story.asks("hang") == []


def test_children_that_work_are_work(story: Story) -> None:
    worker = sample(pid=101, ppid=100, state="R", cpu_s=1.0)
    story.train(60)
    for turn in range(30):
        busy = sample(pid=101, ppid=100, state="R", cpu_s=5.0 * turn)
        story.lives(5, 1.0, 0.0, sample(state="R"), busy)
        look(story, LOOP, active=True, gil=True)
    assert worker.ppid == 100
    assert story.asks("hang") == []


def collective_on_gpus(story: Story, seconds: int, power_w: float, *more: Any) -> Story:
    for _ in range(60):
        story.step().gpu(0, power_w=600.0).gpu(1, power_w=610.0)
    for _ in range(seconds):
        story.lives(1, 1.0, 0.0, *samples("R"))
        story.gpu(0, util_ratio=1.0, power_w=power_w).gpu(1, util_ratio=1.0, power_w=power_w + 1)
    return story


def test_gpus_that_spin_in_a_kernel(story: Story) -> None:
    finding = told(collective_on_gpus(story, 80, 180.0))
    assert finding.severity is Severity.WARNING
    assert finding.details["verdict"] == "spin"
    assert "fully utilised and draw little power" in finding.summary
    assert told(collective_on_gpus(Story(), 120, 180.0)).severity is Severity.CRITICAL


def small_model(story: Story, **then: Any) -> Story:
    """What an H100 shows of a training that hardly uses it, and then of a kernel that never ends."""
    for _ in range(60):
        story.step().gpu(util_ratio=0.02, power_w=125.0, mem_busy_ratio=0.01)
    for second in range(120):
        story.lives(1, 1.0, 0.0, *samples("R"))
        story.gpu(
            **{"util_ratio": 1.0, "power_w": 117.0 + second % 2, "mem_busy_ratio": 0.0, **then}
        )
    return story


def test_a_kernel_that_spins_under_a_small_model(story: Story) -> None:
    """Its draw is nearly the usual one: that its memory rests gives it away."""
    finding = told(small_model(story))
    assert (finding.severity, finding.details["verdict"]) == (Severity.CRITICAL, "spin")
    assert any(e.kind == "gpu" and "GPU 0" in e.text for e in finding.evidence)


@pytest.mark.parametrize("busy", [0.01, None])
def test_memory_that_is_used_or_not_known_to_rest(story: Story, busy: float | None) -> None:
    assert small_model(story, mem_busy_ratio=busy).asks("hang") == []


def test_a_board_that_always_tells_of_memory_at_rest(story: Story) -> None:
    small_model(story)
    for index, seen in enumerate(story.gpus[0]):
        story.gpus[0][index] = replace(seen, mem_busy_ratio=0.0)
    assert story.asks("hang") == []


def test_gpus_that_work(story: Story) -> None:
    assert collective_on_gpus(story, 300, 590.0).asks("hang") == []


def test_a_draw_that_moves(story: Story) -> None:
    collective_on_gpus(story, 100, 180.0)
    for second in range(15):
        story.lives(1, 1.0, 0.0, *samples("R"))
        story.gpu(0, util_ratio=1.0, power_w=180.0 + 9 * second).gpu(1, power_w=200 + second * 8)
    assert story.asks("hang") == []


def test_a_usual_draw_that_is_remembered(story: Story) -> None:
    collective_on_gpus(story, 100, 240.0)
    story.gpus = {0: []}
    for _ in range(20):
        story.lives(1, 1.0, 0.0, *samples("R"))
        story.gpu(0, util_ratio=1.0, power_w=240.0, power_usual_w=650.0)
    assert told(story).details["verdict"] == "spin"


# -- work --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nvcc", "cc1plus", "ptxas", "ninja", "triton-worker", "gcc"])
def test_a_compiler_among_the_children(story: Story, name: str) -> None:
    story.train(60)
    for second in range(100):
        child = sample(pid=150, ppid=100, name=name, state="S", cpu_s=0.15 * second)
        story.lives(1, 0.0, 0.0, sample(), child)
    assert story.asks("hang") == []
    sleeping = sample(pid=150, ppid=100, name=name, state="S", cpu_s=15.0)
    assert len(story.lives(40, 0.0, 0.0, sample(), sleeping).asks("hang")) == 1


def test_short_lived_compilers(story: Story) -> None:
    story.train(60)
    for second in range(100):
        child = sample(pid=150 + second // 5, ppid=100, name="cc1", cpu_s=0.0)
        story.lives(1, 0.0, 0.0, sample(), child)
    assert story.asks("hang") == []


def test_workers_that_burn_cpu_are_starvation_not_a_hang(story: Story) -> None:
    story.train(60)
    for second in range(200):
        worker = sample(pid=101, ppid=100, state="R", cpu_s=0.95 * second)
        story.lives(1, 0.0, 0.0, sample(wchan="poll_schedule_timeout"), worker)
    assert story.asks("hang") == []


def test_a_save_moves_bytes(story: Story) -> None:
    assert story.train(60).lives(100, 0.02, 20 * MIB).asks("hang") == []


# -- whose stack is worth a look ---------------------------------------------------------------


def suspected(story: Story) -> tuple[tuple[int, int | None], ...]:
    return suspects(story.view(), Limits())


def test_nobody_is_looked_at_long_before_the_limit(story: Story) -> None:
    assert suspected(story.train(60).idle(34)) == ()
    assert suspected(story.idle(1)) == ((100, None),)
    assert suspected(story.end(0)) == ()


def test_every_rank_is_looked_at(story: Story) -> None:
    story.train(60).idle(60, sample(), *ranks(3))
    assert suspected(story) == ((200, 0), (201, 1), (202, 2))


def test_nobody_while_anything_gets_on(story: Story) -> None:
    assert suspected(story.train(60).lives(70, 0.0, 3.0 * MIB)) == ()
    story = Story().train(60).idle(70).grow()
    assert suspected(story) == ()


def test_not_who_works_a_little_or_stands_still(story: Story) -> None:
    assert suspected(story.train(60).lives(70, 0.4, 0.0)) == ()
    assert suspected(Story().train(60).idle(70, *samples("T"))) == ()
    assert suspected(Story().train(60).idle(70, *samples("D"))) == ()


def test_not_who_was_seen_to_get_on(story: Story) -> None:
    assert suspected(spin(story, 120, 52)) == ((100, None),)
    assert suspected(spin(Story(), 120, 52, 90)) == ()


@pytest.mark.parametrize(
    "frame",
    ["Trainer.evaluation_loop (transformers/trainer.py:4100)", "validate (train.py:80)"],
)
def test_nothing_at_all_inside_an_evaluation_may_be_its_way(story: Story, frame: str) -> None:
    story.train(60).idle(90)
    look(story, ("__getitem__ (data.py:19)", frame, "main (train.py:120)"))
    assert story.asks("hang") == []
    story.idle(220)
    look(story, ("__getitem__ (data.py:19)", frame, "main (train.py:120)"))
    assert told(story).severity is Severity.CRITICAL


def test_a_lock_inside_an_evaluation_is_told(story: Story) -> None:
    story.train(60).idle(90)
    look(story, ("wait (python/threading.py:320)", "validate (train.py:80)", "main (train.py:120)"))
    assert told(story).details["verdict"] == "lock"


# -- pools -------------------------------------------------------------------------------------

RESULT = (
    "wait (python/threading.py:320)",
    "next (python/multiprocessing/pool.py:861)",
    "main (prepare.py:31)",
)
TASK = (
    "__enter__ (python/multiprocessing/synchronize.py:95)",
    "get (python/multiprocessing/queues.py:364)",
    "worker (python/multiprocessing/pool.py:114)",
    "main (prepare.py:29)",
)
BUSY_WORKER = (
    "tokenise (prepare.py:12)",
    "worker (python/multiprocessing/pool.py:125)",
    "main (prepare.py:29)",
)
TRACKER = (
    "main (python/multiprocessing/resource_tracker.py:209)",
    "<module> (python/multiprocessing/resource_tracker.py:1)",
)


def pool(story: Story, seconds: int, *stacks: tuple[str, ...]) -> Story:
    """A program without steps whose pool has a worker for each of ``stacks``."""
    workers = [sample(pid=300 + n, ppid=100) for n in range(len(stacks))]
    story.idle(seconds, sample(), *workers)
    look(story, RESULT)
    for n, frames in enumerate(stacks):
        look(story, frames, 300 + n, own=None)
    return story


def test_a_pool_of_which_nobody_has_a_task(story: Story) -> None:
    finding = told(pool(story, 70, TASK, TASK, TRACKER))
    assert finding.severity is Severity.WARNING
    assert finding.details["verdict"] == "pool"
    assert "waits for a result of its pool, whose 2 workers all wait for tasks" in finding.summary
    assert told(pool(story, 330, TASK, TASK)).severity is Severity.CRITICAL


@pytest.mark.parametrize("other", [BUSY_WORKER, LOOP])
def test_a_worker_that_has_a_task(story: Story, other: tuple[str, ...]) -> None:
    assert pool(story, 90, TASK, other).asks("hang") == []


def test_a_worker_whose_stack_is_not_known(story: Story) -> None:
    pool(story, 90, TASK, TASK)
    del story.stacks[-1]
    assert story.asks("hang") == []


def test_the_workers_of_a_pool_are_suspects_once_the_program_waits_for_it(story: Story) -> None:
    story.idle(60, sample(), sample(pid=300, ppid=100))
    assert [pid for pid, _ in suspects(story.view(), Limits())] == [100]
    look(story, RESULT)
    assert [pid for pid, _ in suspects(story.view(), Limits())] == [100, 300]
