"""Checkpoints of Megatron, LitGPT, Lightning, Keras and numpy, and what they tell about steps."""

from __future__ import annotations

import argparse
import json
import shutil
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.checkpoints.formats.bounded_file import BoundedFile
from middlewatch.daemon.checkpoints.formats.contents import contents
from middlewatch.daemon.checkpoints.verify import folders, levels, structure

from .hdf5_maker import FLOAT32, INT32, hdf5

torch = pytest.importorskip("torch")
safe = pytest.importorskip("safetensors.torch")


def state_of(path: Path) -> tuple[str, str]:
    verdict = structure.check(str(path))
    return verdict.state, verdict.detail


def megatron(root: Path, step: int, tensor: int, pipeline: int) -> Path:
    folder = root / f"iter_{step:07}"
    args = argparse.Namespace(
        tensor_model_parallel_size=tensor, pipeline_model_parallel_size=pipeline
    )
    for t in range(tensor):
        for p in range(pipeline):
            rank = folder / (f"mp_rank_{t:02}" + (f"_{p:03}" if pipeline > 1 else ""))
            rank.mkdir(parents=True)
            state = {"args": args, "iteration": step, "model": {"w": torch.ones(3)}}
            torch.save(state, rank / "model_optim_rng.pt")
    (root / "latest_checkpointed_iteration.txt").write_text(str(step))
    return folder


def test_megatron_with_all_its_ranks(tmp_path: Path) -> None:
    folder = megatron(tmp_path, 100, 2, 2)
    found = levels.describe(str(folder))
    assert (found["state"], found["step"], found["format"]) == ("ok", 100, "torch")
    assert found["step_origin"] == "checkpoint"
    assert [entry["path"] for entry in levels.verify([str(tmp_path)])] == [str(folder)]


@pytest.mark.parametrize("rank", ["mp_rank_00_000", "mp_rank_00_001", "mp_rank_01_000"])
def test_megatron_without_a_rank(tmp_path: Path, rank: str) -> None:
    folder = megatron(tmp_path, 100, 2, 2)
    shutil.rmtree(folder / rank)
    assert state_of(folder)[0] == "incomplete"
    assert rank in state_of(folder)[1]


def test_megatron_with_a_rank_half_written(tmp_path: Path) -> None:
    folder = megatron(tmp_path, 100, 2, 2)
    model = folder / "mp_rank_01_001" / "model_optim_rng.pt"
    model.rename(model.with_name("distrib_optim.pt"))
    said = "mp_rank_01_001/model_optim_rng.pt is missing"
    assert state_of(folder) == ("incomplete", said)


def test_megatron_whose_last_rank_never_came(tmp_path: Path) -> None:
    folder = megatron(tmp_path, 100, 2, 1)
    shutil.rmtree(folder / "mp_rank_01")
    assert state_of(folder) == ("incomplete", "mp_rank_01 is missing")


def test_megatron_and_its_tracker(tmp_path: Path) -> None:
    megatron(tmp_path, 100, 1, 1)
    newer = megatron(tmp_path, 200, 1, 1)
    tracker = tmp_path / "latest_checkpointed_iteration.txt"
    assert folders.dangling_latest(str(tmp_path)) == ""
    assert state_of(newer) == ("ok", "")
    tracker.write_text("100\n")
    assert state_of(newer)[0] == "ok"
    assert "still names 100" in state_of(newer)[1]
    tracker.write_text("900")
    assert "iter_0000900, which is not there" in folders.dangling_latest(str(tmp_path))
    tracker.write_text("")
    assert "is empty" in folders.dangling_latest(str(tmp_path))


def test_litgpt_counts_steps_of_the_optimizer(tmp_path: Path) -> None:
    folder = tmp_path / "step-00000100"
    folder.mkdir()
    state = {"model": {"w": torch.ones(2)}, "iter_num": 400, "step_count": 100, "hparams": {}}
    torch.save(state, folder / "lit_model.pth")
    (folder / "model_config.yaml").write_text("name: tiny\n")
    found = levels.describe(str(folder))
    assert (found["state"], found["step"], found["step_origin"]) == ("ok", 100, "checkpoint")
    (folder / "lit_model.pth").rename(folder / "lit_model.pth.tmp")
    assert state_of(folder)[0] == "incomplete"


def test_lightning_tells_what_its_callbacks_watch(tmp_path: Path) -> None:
    path = tmp_path / "epoch=3-step=40.ckpt"
    watched = {
        "monitor": "val_loss",
        "best_model_score": torch.tensor(0.25),
        "current_score": torch.tensor(0.5, dtype=torch.float64),
    }
    state = {
        "epoch": 3,
        "global_step": 40,
        "pytorch-lightning_version": "2.5.0",
        "state_dict": {"w": torch.ones(3)},
        "callbacks": {"ModelCheckpoint{'monitor': 'val_loss'}": watched},
    }
    torch.save(state, path)
    found = levels.describe(str(path))
    assert found["metrics"] == {"eval_loss": 0.5, "best_eval_loss": 0.25}
    assert (found["step"], found["epoch"], found["format"]) == (40, 3, "lightning")


@pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])
def test_nanogpt_and_numbers_in_tensors(tmp_path: Path, new: bool) -> None:
    path = tmp_path / "ckpt.pt"
    state = {
        "model": {"w": torch.ones(3)},
        "iter_num": torch.tensor(250),
        "best_val_loss": torch.tensor(1.5, dtype=torch.bfloat16),
    }
    torch.save(state, path, _use_new_zipfile_serialization=new)
    found = levels.describe(str(path))
    assert (found["step"], found["state"]) == (250, "ok")
    assert found["metrics"] == {"eval_loss": 1.5, "best_eval_loss": 1.5}


def test_a_state_file_beside_a_model(tmp_path: Path) -> None:
    for step in (1000, 2000):
        torch.save({"w": torch.ones(3)}, tmp_path / f"model_{step:06}.pt")
        (tmp_path / f"meta_{step:06}.json").write_text(
            json.dumps({"step": step + 1, "val_loss": 2})
        )
    (tmp_path / "state.json").write_text(json.dumps({"step": 5}))  # of neither of the two
    found = levels.describe(str(tmp_path / "model_002000.pt"))
    assert (found["step"], found["step_origin"]) == (2001, "state")
    assert found["metrics"] == {"eval_loss": 2}
    (tmp_path / "meta_002000.json").write_text("{")
    found = levels.describe(str(tmp_path / "model_002000.pt"))
    assert (found["step"], found["step_origin"]) == (2000, "name")
    (tmp_path / "only").mkdir()
    safe.save_file({"w": torch.ones(3)}, tmp_path / "only" / "model.safetensors")
    (tmp_path / "only" / "trainer_state.json").write_text(json.dumps({"global_step": 70}))
    found = levels.describe(str(tmp_path / "only" / "model.safetensors"))
    assert (found["step"], found["step_origin"]) == (70, "state")


def weights(numbers: int = 6, count: int = 6) -> bytes:
    """What Keras saves of a model with one layer, after nine steps."""
    data = struct.pack(f"<{numbers}f", *range(numbers))
    return hdf5({"kernel": (FLOAT32, count, data), "a.iteration": (INT32, 1, b"\x09\0\0\0")})


@given(st.binary(min_size=1000, max_size=4000))
def test_a_signature_of_hdf5_before_noise_is_not_ok(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes
) -> None:
    path = tmp_path_factory.mktemp("noise") / "model.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + noise)
    assert structure.check(str(path)).state in ("corrupt", "unverifiable")


def test_hdf5_as_long_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "model_epoch_3.weights.h5"
    path.write_bytes(weights())
    assert state_of(path) == ("ok", "")
    assert structure.check(str(path)).progress.step == 9
    with BoundedFile(str(path)) as peek:
        found = contents(peek, str(path))
    (kernel,) = found.tensors
    assert (kernel.name, kernel.dtype, kernel.bytes) == ("kernel", "float32", 24)
    assert struct.unpack_from("<6f", weights(), kernel.start) == tuple(range(6))
    path.write_bytes(weights()[:-1])
    assert "the file is cut off: 1 of" in state_of(path)[1]
    path.write_bytes(weights()[:40])
    assert state_of(path)[0] == "corrupt"
    path.write_bytes(weights(count=7))
    assert state_of(path) == ("corrupt", "kernel: its shape takes 28 bytes, it has 24")
    path.write_bytes(weights().replace(b"SNOD", b"SNAD"))
    assert "has no table" in state_of(path)[1]


@given(st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=8), st.integers(0, 300))
def test_any_damage_to_hdf5_gets_a_verdict(
    tmp_path: Path, edits: list[tuple[int, int]], cut: int
) -> None:
    data = bytearray(weights())
    for at, value in edits:
        data[at % len(data)] = value
    path = tmp_path / "model.weights.h5"
    path.write_bytes(data[: len(data) - cut])
    assert state_of(path)[0] in ("ok", "corrupt", "unverifiable")


def keras(path: Path, model: bytes, *without: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (
            ("metadata.json", b"{}"),
            ("config.json", b"{}"),
            ("model.weights.h5", model),
        ):
            if name not in without:
                archive.writestr(name, data)


def test_keras(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    keras(path, weights())
    assert state_of(path) == ("ok", "")
    keras(path, weights()[:-100])
    assert "100 of" in state_of(path)[1]
    keras(path, weights(), "model.weights.h5")
    assert state_of(path) == ("corrupt", "model.weights.h5 is missing in it")


def test_arrays_that_do_not_fill_their_shape(tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    np.savez(tmp_path / "state.npz", w=np.ones((4, 5)))
    assert state_of(tmp_path / "state.npz") == ("ok", "")
    with zipfile.ZipFile(tmp_path / "state.npz") as whole:
        data = whole.read("w.npy")
    with zipfile.ZipFile(tmp_path / "state.npz", "w") as turned:
        turned.writestr("w.npy", data.replace(b"(4, 5)", b"(4, 6)"))
    assert state_of(tmp_path / "state.npz")[0] == "corrupt"


def rewritten(path: Path, change: Any) -> None:
    """Write an archive of torch again, with other bytes in some members."""
    with zipfile.ZipFile(path) as whole:
        members = {i.filename: whole.read(i) for i in whole.infolist()}
    with zipfile.ZipFile(path, "w") as turned:
        for name, data in members.items():
            turned.writestr(name, change(name, data))


def test_a_type_that_does_not_fit_its_data(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save({"layer.w": torch.ones(8, 4)}, path)
    rewritten(
        path,
        lambda name, data: (
            data.replace(b"FloatStorage", b"DoubleStorage") if name.endswith(".pkl") else data
        ),
    )
    assert state_of(path) == ("corrupt", "a/data/0 has 128 bytes, data.pkl wants 256")


def test_a_view_that_reaches_past_its_storage(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save({"layer.w": torch.ones(8, 4)}, path)
    rewritten(
        path,
        lambda name, data: (
            data.replace(b"K\x08K\x04\x86", b"K\x09K\x04\x86") if name.endswith(".pkl") else data
        ),
    )
    assert state_of(path) == ("corrupt", "layer.w reaches 16 bytes past a/data/0")
    torch.save({"layer.w": torch.ones(8, 4)}, path, _use_new_zipfile_serialization=False)
    path.write_bytes(path.read_bytes().replace(b"K\x08K\x04\x86", b"K\x09K\x04\x86"))
    assert "layer.w reaches 16 bytes past" in state_of(path)[1]


def test_an_index_that_knows_less_than_its_shards(tmp_path: Path) -> None:
    names = {"a": "pytorch_model-00001-of-00002.bin", "b": "pytorch_model-00002-of-00002.bin"}
    for name, file in names.items():
        torch.save({name: torch.ones(2)}, tmp_path / file)
    index = tmp_path / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"weight_map": names}))
    assert state_of(index) == ("ok", "")
    torch.save({"b": torch.ones(2), "c": torch.ones(2)}, tmp_path / names["b"])
    assert state_of(index)[0] == "corrupt"
    assert "holds c, which the index does not name: a stale index" in state_of(index)[1]
    torch.save({"c": torch.ones(2)}, tmp_path / names["b"])
    assert "does not hold b" in state_of(index)[1]


def distributed(folder: Path) -> Path:
    import warnings

    dcp = pytest.importorskip("torch.distributed.checkpoint")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = {"model": {"w": torch.ones(40, 30), "v": torch.ones(7)}}
        dcp.save(state, storage_writer=dcp.FileSystemWriter(folder))
    return folder


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"float32", b"float64", "model.w"),
        (b"K\x28K\x1e\x86", b"K\x29K\x1e\x86", "model.w"),
        (b"\x8c\x07model.v\x94", b"\x8c\x07model.x\x94", ""),
    ],
)
def test_a_distributed_checkpoint_whose_metadata_lies(
    tmp_path: Path, old: bytes, new: bytes, said: str
) -> None:
    folder = distributed(tmp_path / "step_3")
    assert state_of(folder) == ("ok", "")
    metadata = folder / ".metadata"
    data = metadata.read_bytes()
    assert old in data
    metadata.write_bytes(data.replace(old, new))
    found = levels.describe(str(folder))
    assert found["state"] == ("corrupt" if said else "ok")
    assert said in found["detail"]


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [("epoch=1-step=3.ckpt", "", "meta.pt"), ("iter_0000003", "common.pt", "metadata.json")],
)
def test_the_file_that_a_trainer_writes_behind_the_metadata(
    tmp_path: Path, name: str, first: str, last: str
) -> None:
    folder = distributed(tmp_path / name)
    if first:
        torch.save({"iteration": 3}, folder / first)
    said = f"{last} is missing: the save never ended"
    assert state_of(folder) == ("incomplete", said)
    if last.endswith(".pt"):
        torch.save({"global_step": 3, "epoch": 1}, folder / last)
    else:
        (folder / last).write_text("{}")
    found = levels.describe(str(folder))
    assert (found["state"], found["step"], found["format"]) == ("ok", 3, "dcp")
    assert found["step_origin"] == "checkpoint"


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return distributed(tmp_path_factory.mktemp("rows") / "step_3")


@given(
    st.sampled_from([".metadata", "__0_0.distcp"]),
    st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=8),
    st.integers(0, 300),
)
def test_any_damage_to_rows_gets_a_verdict(
    rows: Path, tmp_path: Path, name: str, edits: list[tuple[int, int]], cut: int
) -> None:
    folder = tmp_path / "step_3"
    shutil.copytree(rows, folder, dirs_exist_ok=True)
    data = bytearray((rows / name).read_bytes())
    for at, value in edits:
        data[at % len(data)] = value
    (folder / name).write_bytes(data[: max(0, len(data) - cut)])
    json.dumps(levels.describe(str(folder)), allow_nan=False)


def test_a_row_of_archives_is_not_one_archive(tmp_path: Path) -> None:
    path = tmp_path / "twice.pt"
    torch.save({"w": torch.ones(3)}, path)
    path.write_bytes(path.read_bytes() * 2)
    assert state_of(path)[0] == "corrupt"
    (path,) = distributed(tmp_path / "step_3").glob("*.distcp")
    assert state_of(path)[0] == "unverifiable"
    assert "folder" in state_of(path)[1]


def test_rows_that_begin_with_zeroes(tmp_path: Path) -> None:
    folder = distributed(tmp_path / "step_3")
    (path,) = folder.glob("*.distcp")
    path.write_bytes(bytes(64) + path.read_bytes()[64:])
    state, detail = state_of(folder)
    assert state == "corrupt"
    assert "zeroes where model." in detail
