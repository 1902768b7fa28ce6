"""The readers of other libraries' files, with real ones of each (``tests/data/formats.zip``).

They were written by XGBoost 3, LightGBM 4, CatBoost 1.2, gguf, Flax, Equinox, ONNX, joblib, MindSpore, TFLite
and TensorFlow with random numbers; of TensorFlow's data only the length counts.
"""

from __future__ import annotations

import pickle
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from middlewatch.daemon.checkpoints.formats.readers import models
from middlewatch.daemon.checkpoints.verify import levels

ARCHIVE = Path(__file__).parents[2] / "data" / "formats.zip"
STATES = {"ok", "corrupt", "incomplete", "unverifiable"}
FILES = {
    "booster-2.json": 0,
    "ckpt-2.index": 0,
    "m_2.nemo": 9000,
    "model-2.gguf": 0,
    "model_1.tflite": 16,
    "model_2.cbm": 2100,
    "model_2.eqx": 0,
    "model_2.msgpack": 0,
    "model_2.onnx": 0,
    "model_2.ubj": 0,
    "model_3.txt": 2700,
    "net-1_100.ckpt": 0,
    "params_2.pkl": 0,
    "ridge_2.joblib": 0,
    "ridge_3.pkl": 0,
}
"""Name -> bytes at its end that are padding or notes, without which the model is whole."""
BORDERS = {"model_2.eqx", "net-1_100.ckpt", "model_2.onnx"}
"""Formats that are a sequence of items: cut off between two of them, nothing tells."""
MOST_MEMORY = 48 << 20
"""Bytes that Python may take for a file of some KiB, whatever its numbers claim."""
LIMITS = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(tmp_path)
    return tmp_path


@pytest.fixture
def measured() -> Iterator[None]:
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_MEMORY


def judged(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    models.is_model(str(path))
    found = levels.describe(str(path))
    assert found["state"] in STATES
    assert found["state"] == "ok" or found["detail"]
    return str(found["state"])


def test_all_of_them_are_tried() -> None:
    with zipfile.ZipFile(ARCHIVE) as archive:
        assert {n for n in archive.namelist() if ".data-" not in n} == FILES.keys()


@pytest.mark.parametrize("name", FILES)
def test_a_whole_one(there: Path, name: str) -> None:
    found = levels.describe(str(there / name))
    packed = name in ("ridge_2.joblib", "ridge_3.pkl")
    assert found["state"] == ("unverifiable" if packed else "ok"), found["detail"]
    assert found["detail"], "what was not checked is said"


def test_a_pickle_of_arrays_is_a_model_by_the_names_in_it(tmp_path: Path, there: Path) -> None:
    assert models.is_model(str(there / "params_2.pkl")), "Haiku: linear/w and linear/b"
    data = tmp_path / "batch_2.pkl"
    data.write_bytes(pickle.dumps({"images": np.zeros(9), "labels": np.zeros(9)}))
    assert not models.is_model(str(data))
    data.write_bytes(pickle.dumps({"w": 1, "b": 2}))
    assert not models.is_model(str(data)), "no array in it"


def test_an_archive_of_any_name_is_an_agent_by_its_first_record(tmp_path: Path) -> None:
    agent, pictures = tmp_path / "ppo_cartpole.zip", tmp_path / "faces.zip"
    with zipfile.ZipFile(agent, "w") as out:
        out.writestr("data", '{\n    "policy_class": {}, "num_timesteps": 5120, "seed": 1}')
        out.writestr("policy.pth", b"")
        out.writestr("policy.optimizer.pth", b"")
    with zipfile.ZipFile(pictures, "w") as out:
        out.writestr("data", b"\x89PNG")
        out.writestr("policy.pth", b"")
    assert models.is_model(str(agent))
    assert not models.is_model(str(pictures))
    assert levels.expand(str(tmp_path)) == [str(agent)]
    found = levels.describe(str(agent))
    assert (found["state"], found["step"]) == ("ok", 5120)
    assert any("optimizer" in part for part in found["parts"])


def test_a_few_words_under_the_ending_of_torch(tmp_path: Path) -> None:
    """SpeechBrain keeps the count of its epochs so."""
    torch = pytest.importorskip("torch")
    folder = tmp_path / "CKPT+2026-11-27+04-14-38+00"
    folder.mkdir()
    torch.save({"w": torch.zeros(3)}, folder / "model.ckpt")
    for text, state in (
        ("20", "ok"),
        ("step: 3\n", "ok"),
        ("\0\0", "corrupt"),
        ("\x80x", "corrupt"),
    ):
        (folder / "counter.ckpt").write_text(text, "latin-1")
        assert levels.describe(str(folder))["state"] == state, text


def test_an_index_of_tensorflow_tells_what_is_in_its_data(there: Path) -> None:
    found = levels.describe(str(there / "ckpt-2.index"), "structure")
    assert found["parts"]


def test_a_save_with_an_ending_that_its_program_made_up(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"w": torch.zeros(3)}, tmp_path / "ppo.cleanrl_model")
    (tmp_path / "notes.my_model").write_text("not one\n")
    (tmp_path / "word2vec.model").write_bytes(pickle.dumps({"vectors": b"x" * 99}))
    found = [Path(p).name for p in levels.expand(str(tmp_path))]
    assert found == ["ppo.cleanrl_model", "word2vec.model"]


@pytest.mark.parametrize("name", FILES)
def test_one_that_is_cut_off(there: Path, measured: None, name: str) -> None:
    whole = (there / name).read_bytes()

    @LIMITS
    @given(st.integers(0, len(whole) - 1 - FILES[name]))
    def cut(at: int) -> None:
        state = judged(there / name, whole[:at])
        if state == "ok":
            assert name in BORDERS
            # Between two items there are few places.
            assert judged(there / name, whole[: at - 1]) != "ok" or at < 2

    cut()


@pytest.mark.parametrize("name", FILES)
def test_one_with_other_bytes_in_it(there: Path, measured: None, name: str) -> None:
    whole = (there / name).read_bytes()

    @LIMITS
    @given(st.integers(0, len(whole) - 1), st.binary(min_size=1, max_size=12))
    def changed(at: int, other: bytes) -> None:
        judged(there / name, (whole[:at] + other + whole[at + len(other) :])[: len(whole)])

    changed()


@pytest.mark.parametrize("name", FILES)
def test_any_bytes_behind_its_beginning(there: Path, measured: None, name: str) -> None:
    whole = (there / name).read_bytes()

    @LIMITS
    @given(st.integers(0, 64), st.binary(max_size=400))
    def random(kept: int, rest: bytes) -> None:
        judged(there / name, whole[:kept] + rest)

    random()
