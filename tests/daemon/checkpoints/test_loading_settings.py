"""States of random generators and settings of trainers are loaded; what hides behind their names is not."""

from __future__ import annotations

import pickle
import random
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.load import interpreters
from middlewatch.daemon.checkpoints.load.loader import Loaded, Loader
from middlewatch.daemon.checkpoints.verify import levels
from middlewatch.daemon.system.clock import SystemClock

from .evil import archive

TRAIN = """
import sys, torch
from transformers import Trainer, TrainingArguments

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, x, labels):
        return {"loss": ((self.layer(x) - labels) ** 2).mean()}

data = [{"x": torch.randn(4), "labels": torch.randn(1)} for _ in range(8)]
args = TrainingArguments(sys.argv[1], max_steps=2, save_steps=2, report_to=[], use_cpu=True, disable_tqdm=True)
Trainer(Model(), args, train_dataset=data).train()
"""


@pytest.fixture(scope="module")
def loader() -> Iterator[Loader]:
    pytest.importorskip("torch")
    pytest.importorskip("numpy")
    with Loader(interpreters.find(sys.executable), 1 << 30, SystemClock()) as loader:
        yield loader


@pytest.mark.slow
def test_a_whole_folder_of_the_trainer(loader: Loader, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    argv = [sys.executable, "-W", "ignore", "-c", TRAIN, str(tmp_path)]
    subprocess.run(argv, check=True, capture_output=True, timeout=300)
    folder = tmp_path / "checkpoint-2"
    assert {"rng_state.pth", "training_args.bin", "scheduler.pt"} <= {
        p.name for p in folder.iterdir()
    }
    assert loader.check(str(folder)) == Loaded("ok", whole=True)


def test_the_states_of_random_generators(loader: Loader, tmp_path: Path) -> None:
    torch, numpy = pytest.importorskip("torch"), pytest.importorskip("numpy")
    state = {
        "python": random.getstate(),
        "numpy": numpy.random.get_state(),
        "cpu": torch.random.get_rng_state(),
        "loss": numpy.float64(0.5),
        "counts": numpy.arange(12, dtype=">i8").reshape(3, 4),
        "flags": numpy.array([True, False]),
    }
    torch.save(state, tmp_path / "rng_state.pth")
    assert loader.check(str(tmp_path / "rng_state.pth")) == Loaded("ok", whole=True)


def name(text: str) -> bytes:
    return f"c{text.rpartition('.')[0]}\n{text.rpartition('.')[2]}\n".encode()


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def call(what: str, *args: bytes) -> bytes:
    return name(what) + b"(" + b"".join(args) + b"tR"


def number(value: int) -> bytes:
    return pickle.dumps(value, 2)[2:-1]


def blob(data: bytes) -> bytes:
    return call("_codecs.encode", text(data.decode("latin1")), text("latin1"))


RECONSTRUCT = "numpy._core.multiarray._reconstruct"
STRATEGY = "transformers.trainer_utils.IntervalStrategy"
SETTINGS = "transformers.training_args.TrainingArguments"
EMPTY = b"(K\x00t"


def array(shape: bytes, kind: bytes, data: bytes) -> bytes:
    made = call(RECONSTRUCT, name("numpy.ndarray"), b"K\x00\x85", blob(b"b"))
    return made + b"(K\x01" + shape + kind + b"\x89" + data + b"tb"


def kind(letters: str, state: bytes = b"") -> bytes:
    return call("numpy.dtype", text(letters), b"\x89", b"\x88") + state


def attacks(canary: str) -> dict[str, bytes]:
    """Pickles that go through the names that are allowed, or beside them."""
    system = call("posix.system", text(f"mkdir '{canary}'"))
    shown = call("importlib.import_module", text("antigravity"))
    return {
        "a call beside settings": call(SETTINGS) + system + b"\x86",
        "an import beside settings": call(SETTINGS) + shown + b"\x86",
        "a call as state of settings": name(SETTINGS)
        + b")\x81"
        + b"}"
        + text("a")
        + system
        + b"sb",
        "a call as argument of settings": call(SETTINGS, system),
        "a name that looks like settings": call("os.SystemConfig", text(canary)),
        "settings of another library": call("transformers_evil.x.TrainingArguments"),
        "a function of the library": call("transformers.utils.hub.cached_file", text(canary)),
        "a pointer for an object": call("numpy.ndarray", b"K\x01\x85", text("O"), blob(b"A" * 8)),
        "an array of objects": array(b"K\x01\x85", kind("O"), blob(b"A" * 8)),
        "a kind that becomes objects": array(
            b"K\x01\x85",
            kind(
                "u8",
                b"(K\x03"
                + text("|")
                + b"N}"
                + text("f")
                + b"K\x00sNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb",
            ),
            blob(b"A" * 8),
        ),
        "an array that is too long": array(b"K\xff\x85", kind("u8"), blob(b"A" * 8)),
        "more memory than there is": call("numpy.ndarray", number(1 << 45) + b"\x85", text("u8")),
        "another class to make": call(RECONSTRUCT, name(SETTINGS), b"K\x00\x85", blob(b"b")),
        "one number of objects": call("numpy._core.multiarray.scalar", kind("O"), blob(b"A" * 8)),
        "memory that is mapped": call("numpy.memmap", text("/etc/passwd")),
        "a file of numpy": call("numpy.load", text("/etc/passwd"), b"N", b"\x88"),
        "eval": call("builtins.eval", text(f"__import__('os').mkdir({canary!r})")),
        "exec in a partial": call("functools.partial", name("builtins.exec"), text("1")),
        "an attribute of an attribute": call(
            "builtins.getattr", name("numpy.ndarray"), text("__class__")
        ),
        "an attribute of settings": call("builtins.getattr", call(SETTINGS), text("__class__")),
        "another pickle": call("pickle.loads", blob(b"cposix\nabort\n(tR.")),
    }


@pytest.mark.parametrize("what", attacks("x"))
def test_what_hides_behind_these_names(loader: Loader, tmp_path: Path, what: str) -> None:
    canary = tmp_path / "canary"
    path = tmp_path / "training_args.bin"
    path.write_bytes(archive({"data.pkl": b"\x80\x02" + attacks(str(canary))[what] + b"."}))
    before = loader._child
    found = loader.check(str(path))
    assert not found.whole
    assert found.detail
    assert not canary.exists()
    if before is not None:
        assert loader._child is before, "it did not even crash"
    (entry,) = levels.verify([str(path)])
    assert entry["level"] != "load"
    assert not canary.exists()


def test_these_pickles_are_real_ones(tmp_path: Path) -> None:
    """Python's own unpickler does what they ask for: the test above would see it."""
    ran = []
    for place, what in enumerate(
        ("a call beside settings", "a call as argument of settings", "eval")
    ):
        canary = tmp_path / f"{place}"
        data = b"\x80\x02" + attacks(str(canary))[what] + b"."
        stub = data.replace(
            SETTINGS.replace(".TrainingArguments", "\nTrainingArguments").encode(),
            b"builtins\ndict",
        )
        code = "import pickle, sys; pickle.loads(sys.stdin.buffer.read())"
        subprocess.run([sys.executable, "-c", code], input=stub, check=False, capture_output=True)
        ran.append(canary.is_dir())
    assert ran == [True, True, True]


def test_the_same_settings_that_are_harmless(loader: Loader, tmp_path: Path) -> None:
    harmless: dict[str, Any] = {
        "called": call(SETTINGS, text("out")),
        "made": name(SETTINGS) + b")\x81}" + text("lr") + b"K\x01sb",
        "array": array(b"K\x01\x85", kind("u8"), blob(b"A" * 8)),
        # As Python 3.11.0 to 3.11.3 writes a member of an enumeration.
        "member": call("builtins.getattr", name(STRATEGY), text("STEPS")),
    }
    for what, data in harmless.items():
        path = tmp_path / f"{what}.bin"
        path.write_bytes(archive({"data.pkl": b"\x80\x02" + data + b"."}))
        (tmp_path / "training_args.bin").write_bytes(path.read_bytes())
        assert loader.check(str(tmp_path / "training_args.bin")) == Loaded("ok", whole=True), what
