"""GPUs without memory left."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.cuda_oom import Limits
from middlewatch.sentinels.kit import Finding, Severity

from .story import GIB, Story


def oom(story: Story, trouble: str = "cuda_oom", rank: int | None = 3) -> Story:
    return story.says(
        trouble, "CUDA out of memory. Tried to allocate …", rank=rank, requested_bytes=2 * GIB
    )


def handled(story: Story) -> Story:
    return story.says("cuda_oom", "out of memory, retrying", severity="info", fatal=False)


def told(story: Story) -> Finding:
    (finding,) = story.asks("cuda_oom")
    return finding


@pytest.mark.parametrize("trouble", ["cuda_oom", "accel_oom"])
def test_a_run_that_ends(story: Story, trouble: str) -> None:
    finding = told(oom(story.train(30), trouble).end(1))
    assert (finding.trouble, finding.severity) == (trouble, Severity.CRITICAL)
    assert finding.fatal
    assert finding.summary == "out of GPU memory on rank 3: 2.00 GiB asked; the run has ended"
    assert (finding.line, finding.details["count"]) == (31, 1)
    assert [e.kind for e in finding.evidence] == ["log"]


def test_a_run_that_stands_still(story: Story) -> None:
    oom(story.train(30))
    assert told(story).severity is Severity.INFO, "the program may handle it"
    assert told(story.wait(19)).severity is Severity.INFO
    finding = told(story.wait(2))
    assert (finding.severity, finding.fatal) == (Severity.CRITICAL, True)


def test_slow_steps_get_three_of_them(story: Story) -> None:
    oom(story.train(30, 60))
    assert told(story.wait(179)).severity is Severity.INFO
    assert told(story.wait(2)).severity is Severity.CRITICAL


def test_the_search_for_a_batch_size_before_the_first_step(story: Story) -> None:
    oom(story, rank=None)
    assert told(story.wait(59)).severity is Severity.INFO
    finding = told(story.wait(2))
    assert finding.severity is Severity.CRITICAL
    assert finding.summary == "out of GPU memory: 2.00 GiB asked"


def test_a_run_that_goes_on(story: Story) -> None:
    oom(story.train(30)).train(2)
    assert story.wait(600).asks("cuda_oom") == []


def test_a_program_that_says_that_it_handles_it(story: Story) -> None:
    finding = told(handled(oom(story.train(30))).wait(600))
    assert (finding.severity, finding.details["count"]) == (Severity.INFO, 2)
    assert told(story.end(1)).severity is Severity.CRITICAL


def test_one_that_is_handled_at_a_good_end(story: Story) -> None:
    oom(story.train(30, total=30)).end(0)
    assert told(story).severity is Severity.INFO
    assert told(oom(Story().train(30, total=99)).end(0)).severity is Severity.CRITICAL


def test_the_key_is_the_same_when_it_gets_worse(story: Story) -> None:
    before = told(oom(story.train(30)))
    after = told(story.wait(60))
    assert (before.key, before.trouble) == (after.key, after.trouble)


def test_an_old_log(story: Story) -> None:
    oom(story.replayed().train(5))
    assert told(story).severity is Severity.CRITICAL
    finding = told(story.train(2))
    assert (finding.severity, finding.fatal) == (Severity.INFO, False)
    assert told(handled(Story().replayed())).severity is Severity.INFO


def test_other_troubles(story: Story) -> None:
    assert story.train(3).says("cgroup_oom_kill").end(1).asks("cuda_oom") == []


def test_details_of_any_kind(story: Story) -> None:
    story.says("cuda_oom", requested_bytes="much").end(1)
    assert told(story).summary == "out of GPU memory; the run has ended"


def test_patience_is_a_setting(story: Story) -> None:
    oom(story.train(30)).wait(60)
    (finding,) = story.asks("cuda_oom", Limits(wait_s=90))
    assert finding.severity is Severity.INFO


NEW = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
    "capacity of 79.15 GiB of which 1.20 GiB is free. Of the allocated memory {} is allocated by "
    "PyTorch, and {} is reserved by PyTorch but unallocated."
)
OLD = (
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.90 GiB total capacity; "
    "{} already allocated; 1.20 GiB free; {} reserved in total by PyTorch)"
)


@pytest.mark.parametrize(
    ("text", "unused", "setting"),
    [
        (NEW.format("60.00 GiB", "16.50 GiB"), "16.50", "expandable_segments:True"),
        (OLD.format("10.00 GiB", "14.00 GiB"), "4.00", "max_split_size_mb:128"),
        (NEW.format("76.00 GiB", "512.00 MiB"), "", ""),
        (OLD.format("13.50 GiB", "14.00 GiB"), "", ""),
    ],
)
def test_fragmentation_is_read_from_the_figures(
    story: Story, text: str, unused: str, setting: str
) -> None:
    story.train(30).says("cuda_oom", text, requested_bytes=2 * GIB).end(1)
    (finding,) = story.asks("cuda_oom")
    assert setting in finding.remedy
    assert ("in pieces: set" in finding.remedy) == bool(unused)
    assert ("reserved but unused" in finding.summary) == bool(unused)
    assert unused in finding.summary


CARD = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.18 GiB of which "
TORCH = "Of the allocated memory 20.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated."


@pytest.mark.parametrize(
    ("text", "step"),
    [
        # Seen on an H100, after set_per_process_memory_fraction(0.1).
        (("65.77 GiB is free. Process 870 has 1.07 GiB memory in use. Including non-PyTorch memory, this process has 8.16 "
         "GiB memory in use. 7.92 GiB allowed; Of the allocated memory 7.00 GiB is allocated by PyTorch."),
         "it may use 7.92 GiB of the GPU (`set_per_process_memory_fraction` in its code), of which 65.77 GiB are free"),
        ("1.00 GiB is free. Process 870 has 3.00 GiB memory in use. Process 871 has 54.00 GiB memory in use. Including "
         "non-PyTorch memory, this process has 21.10 GiB memory in use. " + TORCH,
         "see whose process 871 is, which holds 54.00 GiB of this GPU"),
        ("1.00 GiB is free. Including non-PyTorch memory, this process has 78.10 GiB memory in use. " + TORCH,
         "the process has 78.10 of the 79.18 GiB of the GPU for itself"),
        # In a container: the process itself under the number that the host knows.
        ("1.00 GiB is free. Process 8700 has 57.00 GiB memory in use. Process 9000 has 21.00 GiB memory in use. " + TORCH,
         "see whose process 8700 is, which holds 57.00 GiB"),
        ("1.00 GiB is free. Process 8700 has 78.00 GiB memory in use. " + TORCH.replace("20.00", "77.00"),
         "the process has 78.00 of the 79.18 GiB of the GPU for itself"),
        ("1.00 GiB is free. Including non-PyTorch memory, this process has 21.10 GiB memory in use. " + TORCH,
         "57.08 GiB of it are not of this process"),
        ("70.00 GiB is free. Including non-PyTorch memory, this process has 8.00 GiB memory in use.", ""),
        ("1.00 GiB is free.", ""),
    ],
)  # fmt: skip
def test_whose_memory_it_is(story: Story, text: str, step: str) -> None:
    story.train(30).says("cuda_oom", CARD + text, requested_bytes=2 * GIB).end(1)
    (finding,) = story.asks("cuda_oom")
    assert step in finding.remedy
    assert bool(finding.remedy) == bool(step)
