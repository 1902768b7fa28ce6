from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.checkpoints.formats import names
from middlewatch.sentinels.kit.metric_keys import canonical, fold


@pytest.mark.parametrize(
    ("name", "step", "epoch"),
    [
        ("step_4200", 4200, None),
        ("ckpt-100", 100, None),
        ("checkpoint-500", 500, None),
        ("iter_0000100", 100, None),
        ("epoch=3-step=4000.ckpt", 4000, 3),
        ("epoch=3-step=4000-v1.ckpt", 4000, 3),
        ("global_step123", 123, None),
        ("model_00019560.pt", 19560, None),
        ("step-00001000", 1000, None),
        ("step_10k.pt", 10_000, None),
        ("ep2-ba20-rank0.pt", 20, 2),
        ("recovery-4-2.pth.tar", None, None),
        ("20000", 20000, None),
        ("ema_0.9999_050000.pt", 50000, None),
        ("checkpoint_epoch_7.pth", None, 7),
        ("checkpoint_7.pth.tar", 7, None),
        ("steps_20001015.pt", 20001015, None),
        ("model-7b-00100.pt", 100, None),
        ("ckpt.pt", None, None),
        ("last.ckpt", None, None),
        ("gpt2-124M.pt", None, None),
        ("model-1.5b.pt", None, None),
        ("resnet50.pth", None, None),
        ("run_2024-01-02.pt", None, None),
        ("model-00001-of-00003.safetensors", None, None),
    ],
)
def test_step_and_epoch_in_names(name: str, step: float | None, epoch: float | None) -> None:
    assert (names.step_of(name), names.epoch_of(name)) == (step, epoch)


@pytest.mark.parametrize(
    ("name", "may_be"),
    [
        ("model_100.d3", True),
        ("ppo.cleanrl_model", True),
        ("ppo_cartpole.zip", True),
        ("model.py", False),
        ("model_card.md", False),
        ("weights.yaml", False),
        ("batch.d3", False),
    ],
)
def test_names_that_leave_it_to_the_first_bytes(name: str, may_be: bool) -> None:
    assert names.may_be_checkpoint(name) is may_be


def test_a_loop_of_ones_own_may_call_its_folders_as_the_trainer_does() -> None:
    """The Trainer writes training_args.bin before its optimizer."""
    own = {"pytorch_model.bin", "optimizer.pt"}
    assert names.folder_kind("checkpoint-20", own, ()) == "folder"
    assert names.folder_kind("checkpoint-20", {*own, "training_args.bin"}, ()) == "hf"
    assert names.folder_kind("checkpoint-20", {"model.safetensors"}, ()) == "hf"


def test_metrics_in_names() -> None:
    name = "epoch=3-val_loss=0.25-train_loss=1e-3.ckpt"
    assert names.metrics_of(name) == {"eval_loss": 0.25, "train_loss": 0.001}
    both = "step=9-val_loss=0.25-test_loss=0.5-lr=3e-4-style_loss=1.5.ckpt"
    assert names.metrics_of(both) == {"eval_loss": 0.25}, "the first of two evaluations"


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("loss", "train_loss"),
        *((f"{which}_loss", "eval_loss") for which in ("val", "valid", "validation", "eval")),
        ("test_loss", "eval_loss"),
        ("valid/loss", "eval_loss"),
        ("valLoss", "eval_loss"),
        *((name, "accuracy") for name in ("accuracy", "acc", "val_acc", "eval_accuracy", "top1")),
        *((name, None) for name in ("lr", "step", "grad_norm", "style_loss", "loss_fn", "accel")),
    ],
)
def test_a_metric_has_the_same_name_in_a_checkpoint_and_in_a_log(
    name: str, ours: str | None
) -> None:
    assert names.metric_name(name) == ours
    in_log = canonical(fold(name))
    assert in_log == ours or (ours is None and in_log not in names.RATINGS)


def test_the_table_of_names_is_not_asked_for_names_of_tensors() -> None:
    code = """
import sys
from middlewatch.daemon.checkpoints.formats import names, progress
for key in ("model.layers.0.weight", "state_dict", "epoch", "optimizer_states", "best_so_far"):
    assert progress.canonical(key) is None
print([name for name in sys.modules if ".parsers." in name])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "model.pt.tmp",
        "tmp-checkpoint-500",
        "model.pt.partial",
        ".model.pt.Ab12Cd",
        "tmpab12cd34",
        "step_10.orbax-checkpoint-tmp-12",
        ".metadata.tmp",
        "model.safetensors.incomplete",
        "ckpt.pt.tmp.123",
    ],
)
def test_temporaries(name: str) -> None:
    assert names.is_leftover(name)
    assert not names.is_checkpoint_file(name)


@pytest.mark.parametrize("name", ["model.pt", "checkpoint-500", "attempt.pt", "model.temporal.pt"])
def test_no_temporaries(name: str) -> None:
    assert not names.is_leftover(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model.safetensors", True),
        ("pytorch_model.bin", True),
        ("train.bin", False),
        ("optimizer.pt", False),
        ("rng_state_3.pth", False),
        ("training_args.bin", False),
        ("model-00001-of-00003.safetensors", False),
        ("model.safetensors.index.json", True),
        ("trainer_state.json", False),
        ("step_3.npz", True),
        ("data.npz", False),
    ],
)
def test_which_files_stand_for_a_checkpoint(name: str, expected: bool) -> None:
    assert names.is_checkpoint_file(name) is expected


@pytest.mark.parametrize(
    ("name", "files", "folders", "kind"),
    [
        ("any", {".metadata", "__0_0.distcp"}, set(), "dcp"),
        ("any", {"__0_0.distcp"}, set(), "dcp"),
        ("checkpoint-500", set(), set(), "hf"),
        ("checkpoint-500", {"trainer_state.json"}, {"global_step500"}, "hf"),
        ("global_step5", {"mp_rank_00_model_states.pt"}, set(), "deepspeed"),
        ("tag", {"layer_00-model_states.pt"}, set(), "deepspeed"),
        ("step_100", {"lit_model.pth"}, set(), "folder"),
        ("final", {"trainer_state.json", "model.safetensors"}, set(), "hf"),
        ("out", {"trainer_state.json", "model.safetensors"}, {"checkpoint-500"}, None),
        ("ds", {"latest"}, {"global_step5"}, None),
        ("out", {"ckpt.pt"}, set(), None),
    ],
)
def test_kind_of_folder(name: str, files: set[str], folders: set[str], kind: str | None) -> None:
    assert names.folder_kind(name, files, folders) == kind


@given(st.text(max_size=400))
def test_any_name_is_fine(name: str) -> None:
    names.step_of(name)
    names.epoch_of(name)
    names.metrics_of(name)
    names.is_checkpoint_file(name)
    names.folder_kind(name, {name}, {name})
