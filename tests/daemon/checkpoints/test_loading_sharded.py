"""Checkpoints of torch.distributed, loaded by its own reader: real ones of two ranks, FSDP among them."""

from __future__ import annotations

import io
import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.load import interpreters, looking, sharded
from middlewatch.daemon.checkpoints.load import loader as loading
from middlewatch.daemon.checkpoints.load.loader import Loader
from middlewatch.daemon.system.clock import SystemClock

from .evil import archive
from .goods import made as made_by

REAL = ("step_40", "step_50", "async/step_60", "step_70", "fsdp/step-80", "back/step_80")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch.distributed.checkpoint")
    return made_by("distributed", tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def loader() -> Iterator[Loader]:
    pytest.importorskip("torch")
    with Loader(interpreters.find(sys.executable), 1 << 30, SystemClock()) as loader:
        yield loader


@pytest.fixture
def copy(real: Path, tmp_path: Path) -> Path:
    """A copy of the one with a tensor that is split over two ranks."""
    return Path(shutil.copytree(real / "step_50", tmp_path / "step_50"))


def describe(folder: Path, change: Callable[[Any], None]) -> None:
    """Change what ``.metadata`` says."""
    file = folder / ".metadata"
    told = pickle.loads(file.read_bytes())
    change(told)
    file.write_bytes(pickle.dumps(told))


def test_real_ones_are_loaded_whole(loader: Loader, real: Path) -> None:
    told: list[tuple[int, int]] = []
    for name in REAL:
        told.clear()
        found = loader.check(str(real / name), lambda path, done, of: told.append((done, of)))
        assert found == loading.Loaded("ok", whole=True), name
        assert told[-1][0] == told[-1][1] > 0
    assert loader.walls


def test_what_the_reader_cannot_assemble_is_corrupt(loader: Loader, copy: Path) -> None:
    def wider(told: Any) -> None:
        shape = told.state_dict_metadata["split"]
        for chunk in shape.chunks:
            chunk.sizes = type(chunk.sizes)([chunk.sizes[0], 2 * chunk.sizes[1]])
        shape.size = type(shape.size)([shape.size[0], 2 * shape.size[1]])

    describe(copy, wider)
    found = loader.check(str(copy))
    assert found.state == "corrupt"
    assert ".metadata: " in found.detail or "torch cannot load it" in found.detail


def test_a_chunk_that_nobody_describes_is_told(loader: Loader, copy: Path) -> None:
    """torch would leave there what is in memory, and say nothing."""
    describe(copy, lambda told: told.state_dict_metadata["split"].chunks.pop())
    found = loader.check(str(copy))
    assert (found.state, found.whole) == ("ok", False)
    assert "the chunks of split have 1024 of its 2048 numbers" in found.detail


def test_a_box_without_the_memory_says_so(real: Path) -> None:
    with Loader(interpreters.find(sys.executable), 4096, SystemClock()) as small:
        found = small.check(str(real / "fsdp" / "step-80"))
    assert (found.state, found.whole) == ("ok", False)
    assert "bytes of memory for" in found.detail


class Evil:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.mark,))


def test_a_description_that_runs_code_is_refused(
    loader: Loader, copy: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "run"
    (copy / ".metadata").write_bytes(pickle.dumps({"state": Evil(mark)}))
    found = loader.check(str(copy))
    assert (found.state, found.whole) == ("ok", False)
    assert "which would run code" in found.detail
    assert not mark.exists()


def test_an_object_that_runs_code_is_refused(loader: Loader, copy: Path, tmp_path: Path) -> None:
    mark = tmp_path / "run"
    put = archive({"data.pkl": pickle.dumps(Evil(mark), 2)})
    (copy / "evil.distcp").write_bytes(put)

    def lead_there(told: Any) -> None:
        place = next(p for i, p in told.storage_data.items() if i.fqn == "step")
        place.relative_path, place.offset, place.length = "evil.distcp", 0, len(put)

    describe(copy, lead_there)
    found = loader.check(str(copy))
    assert (found.state, found.whole) == ("ok", False)
    assert "which would run code" in found.detail
    assert not mark.exists()


def test_a_place_outside_of_the_folder_is_not_opened(loader: Loader, copy: Path) -> None:
    def lead_out(told: Any) -> None:
        next(iter(told.storage_data.values())).relative_path = "../secret.distcp"

    describe(copy, lead_out)
    found = loader.check(str(copy))
    assert found.state == "corrupt"
    assert "lies outside of the folder" in found.detail


@pytest.mark.parametrize("name", ["os.system", "torch.load", "torch.distributed.checkpoint.save"])
def test_a_description_has_no_other_names(name: str) -> None:
    torch = pytest.importorskip("torch")
    module, _, own = name.rpartition(".")
    with pytest.raises(looking.Refused):
        sharded._Description(io.BytesIO(), torch).find_class(module, own)


def test_a_member_of_an_enumeration_is_got_and_nothing_else() -> None:
    """Python 3.11.0 to 3.11.3 writes a member as a call of ``getattr``."""
    torch = pytest.importorskip("torch")
    layouts = "torch.distributed.checkpoint.metadata"
    told = b"".join(
        [
            b"\x80\x02cbuiltins\ngetattr\n",
            f"c{layouts}\n_MEM_FORMAT_ENCODING\n".encode(),
            b"U\x15TORCH_CONTIGUOUS_FORM\x86R.",
        ]
    )
    with pytest.raises(pickle.UnpicklingError, match="not plain"):
        sharded._Description(io.BytesIO(told), torch).load()
    whole = told.replace(b"U\x15TORCH_CONTIGUOUS_FORM", b"U\x17TORCH_CONTIGUOUS_FORMAT")
    made = sharded._Description(io.BytesIO(whole), torch).load()
    assert made.name == "TORCH_CONTIGUOUS_FORMAT"
    shown = whole.replace(b"U\x17TORCH_CONTIGUOUS_FORMAT", b"U\x0b__members__")
    with pytest.raises(pickle.UnpicklingError, match="not plain"):
        sharded._Description(io.BytesIO(shown), torch).load()
