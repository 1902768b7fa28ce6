"""The loss that is no number."""

from __future__ import annotations

import math
from math import inf, nan

import pytest

from middlewatch.sentinels.kit import Severity
from middlewatch.sentinels.kit.trials import all_trials_fail
from middlewatch.sentinels.nan_loss import Limits

from .story import Story


def told(story: Story, *losses: float | None) -> Story:
    for loss in losses:
        story.step(train_loss=loss)
    return story


@pytest.mark.parametrize(
    "losses",
    [
        (),
        (2.1,),
        (2.1, nan),
        (nan,),
        (nan, 2.0),
        (nan, nan, 2.0),
        (nan, 2.0, nan, 2.0),
        (None,) * 5,
    ],
)
def test_stays_silent(story: Story, losses: tuple[float | None, ...]) -> None:
    assert told(story, *losses).asks("nan_loss") == []


@pytest.mark.parametrize(
    ("bad", "trouble", "spelled"),
    [(nan, "loss_nan", "NaN"), (inf, "loss_inf", "infinite"), (-inf, "loss_inf", "infinite")],
)
def test_two_reports_in_a_row_are_told_at_the_second(
    story: Story, bad: float, trouble: str, spelled: str
) -> None:
    story.train(5)
    assert told(story, bad).asks("nan_loss") == []
    (finding,) = told(story, bad).asks("nan_loss")
    assert (finding.trouble, finding.severity) == (trouble, Severity.CRITICAL)
    assert finding.fatal
    assert finding.summary == f"the loss is {spelled} since step 6"
    assert (finding.line, finding.decided_line) == (6, 7)
    assert finding.details["step"] == 6


def test_it_goes_on_saying_the_same(story: Story) -> None:
    first = told(story.train(5), nan, nan).asks("nan_loss")
    for _ in range(60):
        story.step(train_loss=nan)
    again = story.asks("nan_loss")
    assert [(f.key, f.trouble, f.summary) for f in again] == [
        (f.key, f.trouble, f.summary) for f in first
    ]


def test_a_report_without_a_step_number(story: Story) -> None:
    story.step(number=None, train_loss=nan).step(number=None, train_loss=nan)
    (finding,) = story.asks("nan_loss")
    assert finding.summary == "the loss is NaN"


def test_the_line_is_the_evidence(story: Story) -> None:
    for _ in range(2):
        story.step(train_loss=nan, text="step 41/100 loss nan")
    (finding,) = story.asks("nan_loss")
    assert [(e.kind, e.text) for e in finding.evidence] == [("log", "step 41/100 loss nan")]


def test_one_rank_of_eight(story: Story) -> None:
    for _ in range(3):
        for rank in range(8):
            story.step(0.1, by=0 if rank else 1, rank=rank, train_loss=nan if rank == 5 else 2.0)
    (finding,) = story.asks("nan_loss")
    assert finding.details["rank"] == 5


def test_one_of_eight_logs_without_rank_prefixes(story: Story) -> None:
    for _ in range(3):
        for number in range(8):
            story.file = f"/data/rank{number}.log"
            story.step(0.1, by=0 if number else 1, train_loss=nan if number == 5 else 2.0)
    (finding,) = story.asks("nan_loss")
    assert finding.file == "/data/rank5.log"


def test_the_single_step_that_a_loss_scaler_skips(story: Story) -> None:
    for _ in range(5):
        story.train(20, grad_norm=1.0)
        story.says("overflow_skip", "OVERFLOW! Skipping step", severity="info", fatal=False)
        story.step(train_loss=nan, grad_norm=inf)
    assert story.asks("nan_loss") == []


def test_gradients_wait_for_the_morning(story: Story) -> None:
    story.train(3, grad_norm=1.0).train(2, grad_norm=nan)
    assert story.asks("nan_loss") == [], "the loss that follows is the same trouble"
    (finding,) = story.train(1, grad_norm=nan).asks("nan_loss")
    assert (finding.trouble, finding.severity) == ("grad_nonfinite", Severity.WARNING)
    assert not finding.fatal


def test_gradients_and_then_the_loss_are_one_trouble(story: Story) -> None:
    story.train(3, grad_norm=1.0).step(grad_norm=nan).step(grad_norm=nan, train_loss=nan)
    assert story.asks("nan_loss") == []
    story.step(grad_norm=nan, train_loss=nan)
    assert [f.trouble for f in story.asks("nan_loss")] == ["loss_nan", "grad_nonfinite"]


def test_no_loss_scaler_breaks_the_training_and_its_evaluation(story: Story) -> None:
    story.train(3, eval_loss=1.0).step(train_loss=nan, eval_loss=nan)
    assert [f.trouble for f in story.asks("nan_loss")] == ["loss_nan", "val_loss_nan"]


def test_one_evaluation_is_enough(story: Story) -> None:
    story.train(9).step(train_loss=None, eval_loss=nan).train(9)
    (finding,) = story.asks("nan_loss")
    assert (finding.trouble, finding.severity) == ("val_loss_nan", Severity.WARNING)
    assert story.step(train_loss=None, eval_loss=2.2).asks("nan_loss") == []


def test_a_nan_that_is_the_last_report_of_all(story: Story) -> None:
    told(story.train(5), nan).end(0)
    (finding,) = story.asks("nan_loss")
    assert (finding.severity, finding.fatal) == (Severity.WARNING, False)
    (finding,) = story.replayed().asks("nan_loss", ended=True)
    assert finding.severity is Severity.WARNING


def test_patience_is_a_setting(story: Story) -> None:
    told(story, nan, nan, nan)
    assert story.asks("nan_loss", Limits(in_a_row=4)) == []
    assert len(story.asks("nan_loss", Limits(in_a_row=3))) == 1
    assert len(told(Story(), nan).asks("nan_loss", Limits(in_a_row=0))) == 1


# -- what the program says ----------------------------------------------------------------


def test_a_program_that_says_so_and_ends(story: Story) -> None:
    story.train(12).says("loss_nan", "Loss is nan, stopping training")
    assert story.asks("nan_loss") == [], "the next report may show that it goes on"
    (finding,) = story.wait(4).asks("nan_loss")
    assert finding.severity is Severity.WARNING, "it may skip this batch"
    (finding,) = story.end(1).asks("nan_loss")
    assert (finding.severity, finding.fatal) == (Severity.CRITICAL, True)
    assert "Loss is nan, stopping training" in finding.summary


def test_a_program_that_says_so_again_and_again(story: Story) -> None:
    story.train(5).says("loss_nan").says("loss_nan")
    assert story.asks("nan_loss") == [], (
        "two lines at once: the next reports show whether they are true"
    )
    (finding,) = story.wait(5).asks("nan_loss")
    assert (finding.severity, finding.details["count"]) == (Severity.CRITICAL, 2)


def test_a_batch_that_was_skipped(story: Story) -> None:
    story.train(5).says("loss_nan", "loss is nan, skipping this batch").train(2)
    assert story.asks("nan_loss") == []


def test_a_value_and_a_line_about_it_are_one_trouble(story: Story) -> None:
    told(story, nan, nan).says("loss_nan")
    (finding,) = story.asks("nan_loss")
    assert finding.key == "train_loss"
    assert finding.summary.startswith("the loss is NaN")


def test_an_old_log_is_told_with_what_was_overcome(story: Story) -> None:
    story.replayed().train(5).says("loss_nan")
    assert {f.severity for f in story.asks("nan_loss")} == {Severity.CRITICAL}
    assert {f.severity for f in story.train(2).asks("nan_loss")} == {Severity.INFO}


def test_an_old_log_in_which_the_loss_came_back(story: Story) -> None:
    told(story.replayed().train(5), nan, nan, nan, 2.0, 2.0)
    (finding,) = story.asks("nan_loss")
    assert (finding.severity, finding.fatal) == (Severity.WARNING, False)
    assert finding.summary == "the loss was NaN in 3 reports from step 6 on, until step 9"


def test_one_report_that_came_back_is_a_note(story: Story) -> None:
    told(story.replayed().train(5), nan, 2.0, 2.0)
    (finding,) = story.asks("nan_loss")
    assert (finding.severity, finding.fatal) == (Severity.INFO, False)
    assert finding.summary == "the loss was NaN in one report from step 6 on, until step 7"


def test_one_evaluation_that_came_back_is_a_note(story: Story) -> None:
    story.replayed().train(9).step(train_loss=None, eval_loss=nan)
    story.train(9).step(train_loss=None, eval_loss=2.0)
    (finding,) = story.asks("nan_loss")
    assert (finding.trouble, finding.severity) == ("val_loss_nan", Severity.INFO)


def test_all_losses_of_a_program_that_has_several(story: Story) -> None:
    for _ in range(2):
        story.step(train_loss=None, loss_G=nan, loss_D=nan)
    (finding,) = story.asks("nan_loss")
    assert (finding.trouble, finding.severity) == ("loss_nan", Severity.CRITICAL)
    assert finding.summary == "loss_G is NaN since step 1"


def test_one_of_several_losses(story: Story) -> None:
    for _ in range(2):
        story.step(train_loss=None, loss_mask=nan, loss_box=0.3)
    (finding,) = story.asks("nan_loss")
    assert (finding.severity, finding.fatal) == (Severity.WARNING, False)
    assert story.step(train_loss=None, loss_mask=0.2, loss_box=0.3).asks("nan_loss") == []


def test_a_rank_that_is_heard_no_more(story: Story) -> None:
    for rank in (0, 1):
        story.step(rank=rank, train_loss=nan).step(rank=rank, train_loss=nan)
    assert len(story.asks("nan_loss")) == 1
    for _ in range(100):
        story.step(rank=0)
    assert story.asks("nan_loss") == []


@pytest.mark.parametrize("live", [True, False])
def test_a_norm_that_is_named_only_where_a_step_is_skipped(story: Story, live: bool) -> None:
    """``overflow (grad_norm=nan), step skipped``, eight times at the start and then now and again."""
    for number in range(200):
        if number < 8 or number % 20 == 0:
            story.step(train_loss=None, grad_norm=math.nan)
        story.step(train_loss=2.0 - number / 200)
        assert story.asks("nan_loss", live=live) == []
    assert story.asks("nan_loss", live=live, ended=True) == []


def test_a_loss_scaler_at_its_start_finds_its_scale(story: Story) -> None:
    story.train(12, grad_norm=math.inf)
    assert story.asks("nan_loss") == []
    story.train(4, grad_norm=1.2).train(2, grad_norm=math.nan)
    assert story.asks("nan_loss") == []
    assert [f.trouble for f in story.train(1, grad_norm=math.nan).asks("nan_loss")] == [
        "grad_nonfinite"
    ]


def test_gradients_that_are_never_finite_are_told(story: Story) -> None:
    assert story.train(19, grad_norm=math.nan).asks("nan_loss") == []
    assert story.train(2, grad_norm=math.nan).asks("nan_loss")


def trial(story: Story, name: int, reports: int, loss: float = nan) -> Story:
    for step in range(1, reports + 1):
        story.step(number=step, train_loss=loss, trial=name)
    return story


def test_a_trial_of_a_search_may_diverge(story: Story) -> None:
    for name in range(6):
        trial(story, name, 8, 1.0 if name in (0, 3) else nan)
        assert story.asks("nan_loss") == []


def training(story: Story, *losses: float) -> Story:
    for epoch, loss in enumerate(losses, 1):
        story.step(number=None, train_loss=loss, eval_loss=loss, epoch=float(epoch), epochs=20.0)
    return story


def test_one_training_after_the_other_in_words_that_nobody_knows(story: Story) -> None:
    """A search drops a setting after its first NaN; a fold would go on with it."""
    for _ in range(4):
        training(story, 5.0, 2.0, 1.0)
    assert training(story, nan).asks("nan_loss") == []
    assert training(training(story, 4.0, 2.0), nan, nan, nan).asks("nan_loss")


def test_a_single_training_is_told_at_once(story: Story) -> None:
    assert training(training(story, 5.0, 2.0, 1.0), nan).asks("nan_loss")


def test_finite_losses_behind_a_line_that_says_nan(story: Story) -> None:
    """What a model writes as a sample, or an error of another program, is contradicted by what is measured."""
    story.train(60).says("loss_nan", "loss is nan after step 400")
    assert story.asks("nan_loss") == [], "the next reports show it"
    for _ in range(2):
        assert story.step(train_loss=0.2).asks("nan_loss") == []
    assert story.wait(20).asks("nan_loss") == []
    assert story.says("loss_nan", "loss is nan after step 400").end(1).asks("nan_loss")


def test_a_line_that_says_nan_and_no_report_behind_it(story: Story) -> None:
    story.train(60).says("loss_nan", "non-finite loss, stopping")
    assert story.wait(5).asks("nan_loss")


def test_a_search_in_which_every_trial_diverges(story: Story) -> None:
    trial(story, 1, 8, 2.0)
    for name in (2, 3):
        assert trial(story, name, 4).asks("nan_loss") == []
    assert trial(story, 4, 1).asks("nan_loss")


def test_trials_whose_lines_do_not_name_them(story: Story) -> None:
    story.phase("trial")
    for loss in (nan, 2.0, nan, nan, 2.0):
        for step in range(1, 9):
            story.step(number=step, train_loss=loss)
        assert story.asks("nan_loss") == []


@pytest.mark.parametrize(
    ("bad", "trouble"),
    [
        ("finished with value: inf and parameters: {}", "loss_inf"),
        ("failed with parameters: {} because of RuntimeError('shapes')", "recurring_error"),
        ("ended, loss=nan", "loss_nan"),
    ],
)
def test_a_search_whose_trials_all_end_without_a_result(
    story: Story, bad: str, trouble: str
) -> None:
    for n in range(4):
        story.phase("trial", f"Trial {n} finished with value: 0.2{n}.").wait(6)
    for n in (4, 5):
        story.phase("trial", f"Trial {n} {bad}").wait(6)
    assert story.asks("nan_loss") == []
    story.phase("trial", "Trial 6 pruned.").phase("trial", f"Trial 7 {bad}")
    (finding,) = story.asks("nan_loss")
    assert (finding.key, finding.severity) == ("trials", Severity.WARNING)
    assert finding.trouble == trouble
    assert finding.summary.startswith("none of the last 3 trials of the search has a finite result")
    story.phase("trial", "Trial 8 finished with value: 0.31")
    assert story.asks("nan_loss") == []


def test_trials_that_fail_at_once_cost_nothing(story: Story) -> None:
    """Four within a second, as their settings are refused; the next one has a result."""
    for n in range(4):
        story.phase("trial", f"Trial {n} finished with value: 0.9{n}.").wait(3)
    for n in range(4, 8):
        story.phase("trial", f"Trial {n} failed with value None.").wait(0.1)
    assert story.asks("nan_loss") == []
    story.wait(4).phase("trial", "Trial 8 failed with value None.")
    assert story.asks("nan_loss")


def test_the_error_of_trials_that_all_fail_is_quoted(story: Story) -> None:
    story.phase("trial", "Trial 1 finished with value: 0.2.").wait(6)
    for n in (2, 3, 4):
        story.says("python_exception", "short", exception="ValueError", message="rows are missing")
        story.phase("trial", f"Trial {n} failed with value None.").wait(6)
    (finding,) = story.asks("nan_loss")
    assert finding.trouble == "recurring_error"
    assert finding.summary == (
        "the last 3 trials of the search have all failed: ValueError: rows are missing"
    )


def test_a_search_that_only_fails_wakes_somebody_and_is_one_trouble(story: Story) -> None:
    story.phase("trial", "Trial 1 finished with value: 0.2.").wait(6)
    for n in range(2, 10):
        story.says("ckpt_corrupt", "BadZipFile: File is not a zip file", exception="BadZipFile")
        story.phase("trial", f"Trial {n} failed with value None.").wait(60)
    (finding,) = story.asks("nan_loss")
    assert finding.severity is Severity.CRITICAL
    assert finding.summary.startswith("the last 8 trials of the search have all failed")
    assert all_trials_fail(story.view())
    assert story.wait(60).asks("checkpoint_corrupt") == []
    assert not all_trials_fail(story.wait(600).view()), "then it may hang"
    assert [f.trouble for f in story.end(1).wait(3).asks("checkpoint_corrupt")] == ["ckpt_corrupt"]


def test_bad_luck_in_a_wide_search(story: Story) -> None:
    """A third of its trials diverge: three in a row are nothing, nine are."""
    for n in range(60):
        bad = n % 10 in (2, 5, 6, 9)
        result = "failed with value nan." if bad else "finished with value: 0.2"
        story.phase("trial", f"Trial {n} {result}").wait(6)
        assert story.asks("nan_loss") == []
    told = []
    for n in range(60, 70):
        story.phase("trial", f"Trial {n} failed with value nan.").wait(6)
        told.append(bool(story.asks("nan_loss")))
    assert told[:3] == [False] * 3
    assert told[-1]


def test_a_trial_that_is_never_ended(story: Story) -> None:
    trial(story, 7, 1, 2.0)
    assert trial(story, 7, 100).asks("nan_loss") == []
    assert trial(story, 7, 1).asks("nan_loss")


def test_a_jump_of_the_loss_in_a_trial_is_for_its_search(story: Story) -> None:
    for searches in (False, True):
        story.train(200, train_loss=1.5)
        if searches:
            story.phase("trial")
        story.train(8, train_loss=900.0)
        assert bool(story.asks("loss_spike")) is not searches


def test_parts_of_a_loss_that_are_not_there_before_the_learning_starts(story: Story) -> None:
    """An agent warms up: its tables have NaN until the first update."""
    for _ in range(12):
        story.step(train_loss=None, ep_len_mean=200.0).step(train_loss=None, fps=60.0)
        story.step(train_loss=None, actor_loss=nan, critic_loss=nan)
        assert story.asks("nan_loss") == []
    for _ in range(10):
        story.step(train_loss=None, actor_loss=nan, critic_loss=nan)
    assert story.asks("nan_loss"), "but not for ever"


def test_a_part_that_was_finite_once_is_told_at_once(story: Story) -> None:
    story.step(train_loss=None, actor_loss=0.3, critic_loss=0.2)
    for _ in range(2):
        story.step(train_loss=None, actor_loss=nan, critic_loss=0.2)
    assert story.asks("nan_loss")


def test_one_line_about_gradients_while_the_next_reports_are_due(story: Story) -> None:
    """What a loss scaler says when it finds its scale: the step is skipped, and the run goes on."""
    story.train(5, 5.0)
    for _ in range(4):
        story.says(
            "grad_nonfinite",
            "gradients are not finite, step skipped",
            severity="warning",
            fatal=False,
        )
        assert story.wait(1).asks("nan_loss") == []
    assert story.train(3, 5.0).asks("nan_loss") == []


def test_one_line_after_which_nothing_comes(story: Story) -> None:
    story.train(5, 5.0)
    story.says("grad_nonfinite", "gradients are not finite", severity="warning", fatal=False)
    assert story.wait(29).asks("nan_loss") == []
    (finding,) = story.wait(2).asks("nan_loss")
    assert finding.severity is Severity.WARNING


def unnamed(story: Story, times: int, **values: float) -> Story:
    """Reports of a program whose words for its loss nobody knows."""
    for _ in range(times):
        story.step(train_loss=None, t=1.5, **values)
    return story


def test_values_of_which_none_is_named_a_loss(story: Story) -> None:
    unnamed(story, 5, **{"chi2/n": 2.1, "iso": 0.4, "amp": 20.0})
    assert unnamed(story, 2, **{"chi2/n": nan, "iso": nan, "amp": nan}).asks("nan_loss") == []
    (finding,) = unnamed(story, 1, **{"chi2/n": nan, "iso": nan, "amp": nan}).asks("nan_loss")
    assert (finding.trouble, finding.severity) == ("loss_nan", Severity.CRITICAL)
    assert finding.summary == "chi2/n is NaN since step 6"


@pytest.mark.parametrize(
    "values",
    [
        {"pearson": nan, "rmse": 1.0, "bias": 0.1},  # one of several
        {"recall of nothing": nan},  # it has never been finite
    ],
)
def test_a_measure_that_is_not_defined_now(story: Story, values: dict[str, float]) -> None:
    unnamed(story, 5, pearson=0.5, rmse=1.0, bias=0.2)
    assert unnamed(story, 9, **values).asks("nan_loss") == []


def test_the_only_measure_of_a_program(story: Story) -> None:
    unnamed(story, 5, rmse=1.0)
    (finding,) = unnamed(story, 3, rmse=nan).asks("nan_loss")
    assert finding.severity is Severity.WARNING


def test_no_evaluation_yet_is_printed_as_nan(story: Story) -> None:
    for n in range(1, 9):
        story.step(train_loss=3.0 - n / 10, eval_loss=nan)
    assert story.asks("nan_loss") == []
    story.step(train_loss=2.0, eval_loss=1.9)
    assert story.asks("nan_loss") == []
    story.step(train_loss=1.9, eval_loss=nan)
    (finding,) = story.asks("nan_loss")
    assert finding.trouble == "val_loss_nan"


def test_an_evaluation_that_never_is_finite(story: Story) -> None:
    for _ in range(64):
        story.step(train_loss=2.0, eval_loss=nan)
    (finding,) = story.asks("nan_loss")
    assert finding.trouble == "val_loss_nan"


def test_a_trainer_that_leaves_nan_out_of_its_mean(story: Story) -> None:
    """Hugging Face prints a loss of 0 when every loss since the last report was NaN."""
    story.step(train_loss=2.1, grad_norm=1.1).step(train_loss=0.0, grad_norm=nan)
    assert story.asks("nan_loss") == [], "one batch"
    story.step(train_loss=0.0, grad_norm=nan)
    finding = next(f for f in story.asks("nan_loss") if f.trouble == "loss_nan")
    assert (finding.severity, finding.fatal) == (Severity.CRITICAL, True)


def test_such_a_report_after_an_evaluation_that_is_nan(story: Story) -> None:
    story.step(train_loss=2.1, grad_norm=1.1).step(train_loss=None, eval_loss=nan)
    story.step(train_loss=0.0, grad_norm=nan)
    assert Severity.CRITICAL in {f.severity for f in story.asks("nan_loss")}


def test_a_loss_of_zero_with_a_gradient_is_a_number(story: Story) -> None:
    for _ in range(4):
        story.step(train_loss=0.0, grad_norm=0.1)
    assert story.asks("nan_loss") == []


@pytest.mark.parametrize(("before", "code", "told"), [(2, 0, False), (1, 0, True), (2, 1, True)])
def test_the_last_setting_of_a_search_diverges_as_others_did(
    story: Story, before: int, code: int, told: bool
) -> None:
    """No line of it says that it is a search."""
    for _ in range(before):
        story.train(6).step(train_loss=math.nan)
    story.train(6).step(train_loss=math.inf).end(code).wait(5)
    assert bool(story.asks("nan_loss")) is told


@pytest.mark.parametrize(("code", "told"), [(0, False), (1, True)])
def test_the_last_step_of_a_run_that_ended_well_was_skipped(
    story: Story, code: int, told: bool
) -> None:
    story.train(60).says("grad_nonfinite", "gradients contain inf/nan, skipping step 60")
    assert bool(story.wait(1).end(code).wait(5).asks("nan_loss")) is told


def test_a_loss_that_overflows_and_stays_lost_is_nan(story: Story) -> None:
    story.train(20).step(train_loss=math.inf)
    (finding,) = story.train(3, train_loss=math.nan).asks("nan_loss")
    assert (finding.trouble, finding.line) == ("loss_nan", 21)
    assert finding.summary.startswith("the loss is infinite, then NaN since step 21")
