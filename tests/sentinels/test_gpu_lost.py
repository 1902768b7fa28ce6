"""Cards that are gone."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.gpu_lost import Limits
from middlewatch.sentinels.kit import Finding, GpuSample, Severity

from .story import Story

XID_79 = "NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus"


def told(story: Story) -> Finding:
    (finding,) = story.asks("gpu_lost")
    return finding


def lost(story: Story, seconds: int, index: int = 1, **other: object) -> Story:
    """One of two cards does not answer any more."""
    for _ in range(seconds):
        story.wait(1).gpu(0).gpu(index, lost=True, util_ratio=None, power_w=None, **other)
    return story


def xid(story: Story, code: int = 79, text: str = XID_79, **other: object) -> Story:
    return story.says("xid", text, file="kernel", xid=code, **other)  # type: ignore[arg-type]


def test_a_card_that_falls_off_the_bus(story: Story) -> None:
    story.gpu(0).gpu(1)
    assert lost(story, 1, error="GPU is lost").asks("gpu_lost") == []
    finding = told(lost(story, 1, error="GPU is lost"))
    assert (finding.trouble, finding.severity) == ("gpu_lost", Severity.CRITICAL)
    assert finding.fatal
    assert finding.summary == "GPU 1 H100 is lost to the driver"
    assert finding.evidence[0].text == "GPU 1 GPU-1: GPU is lost"
    assert finding.details == {"gpu": 1}


def test_it_stays_one_incident_for_each_card(story: Story) -> None:
    lost(story, 4, 1)
    lost(story, 4, 2)
    assert [f.key for f in story.asks("gpu_lost")] == ["gpu1", "gpu2"]
    story.gpus = {index: seen[-3:] for index, seen in story.gpus.items()}
    assert [f.key for f in story.asks("gpu_lost")] == ["gpu1", "gpu2"]


def test_the_kernel_log_is_its_evidence(story: Story) -> None:
    finding = told(lost(xid(story.train(30)), 3))
    assert [e.text for e in finding.evidence] == ["GPU 1 GPU-1: None", XID_79]
    assert finding.file == "kernel"


def test_steps_that_go_on_make_it_a_warning(story: Story) -> None:
    lost(story.train(30), 3)
    assert told(story.train(8)).severity is Severity.CRITICAL, "lines may wait in a buffer"
    finding = told(story.train(9))
    assert (finding.severity, finding.fatal) == (Severity.WARNING, False)
    assert "still makes steps" in finding.summary


@pytest.mark.parametrize("answers", [[True], [True, False], [False, False], [True, True, False]])
def test_cards_that_are_there(story: Story, answers: list[bool]) -> None:
    for answer in answers:
        story.wait(1).gpu(0, lost=answer)
    assert story.asks("gpu_lost") == []


def test_what_is_not_supported_is_not_lost(story: Story) -> None:
    for _ in range(3):
        story.wait(1).gpu(0, util_ratio=None, power_w=None, name="MIG 1g.10gb")
    assert story.asks("gpu_lost") == []


def test_a_card_without_a_name(story: Story) -> None:
    story.gpus[0] = [GpuSample(story.now, 0, lost=True)] * 2
    assert told(story).summary == "GPU 0 is lost to the driver"


# -- lines -----------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", ["gpu_lost", "cuda_ecc", "nvswitch"])
def test_a_fatal_line(story: Story, trouble: str) -> None:
    finding = told(story.train(30).says(trouble, "it broke"))
    assert (finding.trouble, finding.severity) == (trouble, Severity.CRITICAL)
    assert finding.summary == "a GPU failed: it broke"


def test_an_xid_of_the_hardware(story: Story) -> None:
    finding = told(xid(story.train(30)))
    assert (finding.key, finding.details["xid"], finding.file) == ("xid79", 79, "kernel")


@pytest.mark.parametrize("code", [13, 31, 43, 45])
def test_an_xid_of_the_application(story: Story, code: int) -> None:
    assert xid(story.train(30), code).asks("gpu_lost") == []


def test_a_line_that_is_only_a_warning(story: Story) -> None:
    assert xid(story.train(30), 92, severity="warning").asks("gpu_lost") == []


def test_a_line_that_the_run_went_on_after(story: Story) -> None:
    assert told(xid(story.train(30)).step()).key == "xid79", "one step may have been under way"
    assert story.step().asks("gpu_lost") == []


def test_an_old_log_is_told_code_by_code(story: Story) -> None:
    story.replayed()
    xid(xid(xid(story, 13, severity="warning", fatal=False), 79), 79)
    found = [(f.key, f.severity, f.fatal, f.line) for f in story.says("cuda_ecc").asks("gpu_lost")]
    assert found == [
        ("xid13", Severity.WARNING, False, 1),
        ("xid79", Severity.CRITICAL, True, 2),
        ("cuda_ecc", Severity.CRITICAL, True, 4),
    ]


def test_an_old_log_that_goes_on(story: Story) -> None:
    story.replayed().says("cuda_ecc").says("python_exception").train(2)
    finding = told(story)
    assert (finding.severity, finding.fatal) == (Severity.INFO, False)


def test_settings(story: Story) -> None:
    lost(story, 3)
    assert story.asks("gpu_lost", Limits(answers=4)) == []
    assert len(story.asks("gpu_lost", Limits(answers=0))) == 1


# -- memory ----------------------------------------------------------------------------------


def test_a_counter_of_memory_errors_that_grows(story: Story) -> None:
    assert story.train(30).gpu(0, ecc_new=0).gpu(1, ecc_new=0).asks("gpu_lost") == []
    finding = told(story.wait(1).gpu(0).gpu(1, ecc_new=2, error="2 new uncorrected ECC errors"))
    assert (finding.trouble, finding.key) == ("cuda_ecc", "memory1")
    assert finding.severity is Severity.CRITICAL
    assert finding.summary == "GPU 1 H100 has counted 2 uncorrected ECC errors of its memory"
    assert "new uncorrected" in finding.evidence[0].text


def test_memory_errors_of_a_card_that_the_run_does_not_use(story: Story) -> None:
    story.train(30).idle(1).gpu(0).gpu(1, stray=True, ecc_new=1)
    assert told(story).severity is Severity.WARNING


def test_a_row_that_cannot_be_replaced(story: Story) -> None:
    finding = told(story.train(30).gpu(0, remap_failed=True))
    assert (finding.trouble, finding.severity) == ("cuda_ecc", Severity.WARNING)
    assert "cannot replace" in finding.summary


def test_a_board_that_does_not_count_errors(story: Story) -> None:
    assert story.train(30).gpu(0, ecc_new=None, remap_failed=None).asks("gpu_lost") == []


@pytest.mark.parametrize("known", [True, False])
def test_a_lost_card_that_no_run_is_known_to_use(story: Story, known: bool) -> None:
    """A warning about the box, though the run does not go on: it may stand for another reason."""
    story.gpus_known = known
    story.train(30)
    for _ in range(30):
        story.wait(1).gpu(1, stray=True, lost=True)
    finding = told(story)
    assert (finding.severity, finding.fatal) == (Severity.WARNING, False)
    assert finding.summary == "GPU 1 H100 is lost to the driver; no run is known to use it"
    assert finding.place == "gpu:GPU-1"


def test_since_when_a_card_is_lost(story: Story) -> None:
    story.train(30).gpu(0)
    began = story.wait(1).now
    for _ in range(9):
        story.gpu(0, lost=True).wait(1)
    assert told(story).since == began


@pytest.mark.parametrize(("card", "severity"), [(0, Severity.CRITICAL), (1, Severity.WARNING)])
def test_an_xid_of_a_card(story: Story, card: int, severity: Severity) -> None:
    story.train(30).gpu(0).gpu(1, stray=True)
    finding = told(story.says("xid", "Xid 79", file="nvml", xid=79, gpu=card))
    assert (finding.severity, finding.place) == (severity, f"gpu:{card}:xid")
