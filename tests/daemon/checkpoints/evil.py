"""Checkpoints that run code when they are unpickled: every way to ask for it, in every form.

The code makes a folder, the canary. A gadget is a pickle; a form is how a checkpoint holds one.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

LEGACY_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
Gadget = Callable[[str], bytes]
Form = Callable[[Path, bytes], None]


class _Calls:
    """Pickles as a call, and may hold other things."""

    def __init__(self, function: Any, *args: Any) -> None:
        self._made = function, args

    def __reduce__(self) -> Any:
        return self._made


class _CallsEx(_Calls):
    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._made


def _text(value: str, end: str = "") -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data + end.encode()


def reduce_system(canary: str) -> bytes:
    return b"\x80\x02cposix\nsystem\n" + _text(f"mkdir '{canary}'") + b"\x85R."


def reduce_exec(canary: str) -> bytes:
    return pickle.dumps(_CallsEx(exec, f"import os; os.mkdir({canary!r})"), 2)


def inst(canary: str) -> bytes:
    """Protocol 0: MARK, arguments, INST."""
    return f"(S\"mkdir '{canary}'\"\niposix\nsystem\n.".encode()


def obj(canary: str) -> bytes:
    return b"(cposix\nsystem\n" + _text(f"mkdir '{canary}'") + b"o."


def newobj(canary: str) -> bytes:
    """tuple.__new__(tuple, map.__new__(map, os.mkdir, [canary])): no REDUCE at all."""
    made = b"c__builtin__\nmap\n(cposix\nmkdir\n](" + _text(canary) + b"et\x81"
    return b"\x80\x02c__builtin__\ntuple\n" + made + b"\x85\x81."


def newobj_ex(canary: str) -> bytes:
    made = b"cbuiltins\nmap\n(cposix\nmkdir\n](" + _text(canary) + b"et}\x92"
    return b"\x80\x04cbuiltins\ntuple\n" + made + b"\x85}\x92."


def build(canary: str) -> bytes:
    """BUILD gives an object a __setstate__, a second BUILD calls it."""
    made = b"ctypes\nSimpleNamespace\n)\x81"
    state = b"}(" + _text("__setstate__") + b"cposix\nmkdir\nub"
    return b"\x80\x02" + made + state + _text(canary) + b"b."


def stack_global(canary: str) -> bytes:
    """Protocol 4: the name is put together on the stack, through the memo."""
    names = _text("posix") + b"\x94" + _text("mkdir") + b"\x940h\x00h\x01\x93"
    return b"\x80\x04" + names.replace(b"\x940", b"\x9400", 1) + _text(canary) + b"\x85R."


def nested(canary: str) -> bytes:
    return pickle.dumps(_Calls(pickle.loads, reduce_system(canary)), 2)


def beside_tensors(canary: str) -> bytes:
    """Deep in a plain looking state, behind good keys."""
    state = {"step": 7, "model": {"w": [1.0, 2.0]}, "callbacks": [{"hook": _Calls(_mkdir, canary)}]}
    return pickle.dumps(state, 2)


def object_array(canary: str) -> bytes:
    import numpy as np

    return np.array([_Calls(_mkdir, canary), None], dtype=object).dumps()


def as_a_key(canary: str) -> bytes:
    """The call is the key of a dict, the name of a tensor."""
    return b"\x80\x02}(cposix\nmkdir\n" + _text(canary) + b"\x85RK\x01u."


def in_a_persistent_id(canary: str) -> bytes:
    """The call makes a part of what names a storage."""
    call = b"cposix\nmkdir\n" + _text(canary) + b"\x85R"
    return b"\x80\x02(" + _text("storage") + call + _text("0") + _text("cpu") + b"K\x01tQ."


from os import mkdir as _mkdir  # noqa: E402 (pickles as posix.mkdir)

GADGETS: dict[str, Gadget] = {
    made.__name__: made
    for made in (
        *(reduce_system, reduce_exec, inst, obj, newobj, newobj_ex, build, stack_global),
        *(nested, beside_tensors, object_array, as_a_key, in_a_persistent_id),
    )
}


# ------------------------------------------------------------------------ forms


def archive(records: dict[str, bytes]) -> bytes:
    """What torch.save writes, as far as anybody looks."""
    whole = {"data.pkl": pickle.dumps({"step": 3}, 2), "byteorder": b"little", "version": b"3\n"}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as made:
        for name, data in (whole | records).items():
            made.writestr(f"archive/{name}", data)
    return target.getvalue()


def zip_pickle(path: Path, pickled: bytes) -> None:
    path.with_suffix(".pt").write_bytes(archive({"data.pkl": pickled}))


def zip_other_records(path: Path, pickled: bytes) -> None:
    """Records that nobody should take for a pickle."""
    for name in ("byteorder", "version", ".data/serialization_id", "data/0", ".format_version"):
        target = path.with_name(f"{path.name}_{name.replace('/', '_')}.pt")
        target.write_bytes(archive({name: pickled}))


def zip_code(path: Path, pickled: bytes) -> None:
    """A TorchScript archive: constants.pkl and code/ beside data.pkl."""
    code = {
        "code/__torch__.py": b"def forward(self): ...\n",
        "code/__torch__.py.debug_pkl": pickled,
    }
    records = {"data.pkl": pickled, "constants.pkl": pickled, **code}
    path.with_suffix(".pth").write_bytes(archive(records))


def legacy(path: Path, pickled: bytes) -> None:
    """Each of the pickles behind the magic number in its turn."""
    values: list[Any] = [1001, {"little_endian": True}, {"step": 3}, []]
    good = [pickle.dumps(value, 2) for value in values]
    for turn in range(4):
        parts = [*good[:turn], pickled, *good[turn + 1 :]]
        target = path.with_name(f"{path.name}_{turn}.pt")
        target.write_bytes(LEGACY_MAGIC + b"".join(parts))


def plain(path: Path, pickled: bytes) -> None:
    for name in ("pytorch_model.bin", "model.pt", "model.pkl", "state.ckpt", "model.safetensors"):
        path.with_name(f"{path.name}_{name}").write_bytes(pickled)


def lightning(path: Path, pickled: bytes) -> None:
    """The version string is there, as Lightning writes it."""
    begin = 2 if pickled[:1] == b"\x80" else 0  # behind PROTO
    version = _text("pytorch-lightning_version", "0")
    made = archive({"data.pkl": pickled[:begin] + version + pickled[begin:]})
    path.with_name(f"{path.name}-epoch=1-step=9.ckpt").write_bytes(made)


def hugging_face(path: Path, pickled: bytes) -> None:
    folder = path / "checkpoint-10"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": 10}))
    (folder / "model.safetensors").write_bytes(safetensors())
    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin"):
        (folder / name).write_bytes(archive({"data.pkl": pickled}))
    (folder / "random_states_0.pkl").write_bytes(pickled)


def hugging_face_bin(path: Path, pickled: bytes) -> None:
    """Sharded .bin weights with their index."""
    folder = path / "checkpoint-20"
    folder.mkdir(parents=True)
    shard = "pytorch_model-00001-of-00001.bin"
    (folder / shard).write_bytes(archive({"data.pkl": pickled}))
    index = {"metadata": {}, "weight_map": {"w": shard}}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": 20}))


def distributed_metadata(path: Path, pickled: bytes) -> None:
    folder = path / "step_30"
    folder.mkdir(parents=True)
    (folder / ".metadata").write_bytes(pickled)
    (folder / "__0_0.distcp").write_bytes(archive({}))


def distributed_blob(path: Path, pickled: bytes) -> None:
    """Good archives around a bad one; .metadata names nothing."""
    folder = path / "step_40"
    folder.mkdir(parents=True)
    (folder / ".metadata").write_bytes(pickle.dumps({}, 2))
    blob = archive({}) + archive({"data.pkl": pickled}) + archive({})
    (folder / "__0_0.distcp").write_bytes(blob)


def deepspeed(path: Path, pickled: bytes) -> None:
    folder = path / "global_step50"
    folder.mkdir(parents=True)
    (folder / "mp_rank_00_model_states.pt").write_bytes(archive({"data.pkl": pickled}))
    zero = "zero_pp_rank_0_mp_rank_00_optim_states.pt"
    (folder / zero).write_bytes(archive({"data.pkl": pickled}))
    (path / "latest").write_text("global_step50")


def numpy_archive(path: Path, pickled: bytes) -> None:
    """An .npz whose array is said to hold objects: the pickle lies where its numbers would."""
    head = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117) + "\n"
    member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + pickled
    with zipfile.ZipFile(path.with_name(f"{path.name}_model_step_60.npz"), "w") as made:
        made.writestr("w.npy", member)


def old_tar(path: Path, pickled: bytes) -> None:
    """torch before 0.1.10: a tar with three pickles."""
    with tarfile.open(path.with_name(f"{path.name}_model.pth"), "w") as made:
        for name in ("sys_info", "pickle", "storages", "tensors"):
            info = tarfile.TarInfo(name)
            info.size = len(pickled)
            made.addfile(info, io.BytesIO(pickled))


def safetensors(metadata: dict[str, str] | None = None) -> bytes:
    """A whole file with one tensor of four numbers."""
    head: dict[str, Any] = {"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}
    text = json.dumps({"__metadata__": metadata, **head} if metadata else head).encode()
    return struct.pack("<Q", len(text)) + text + struct.pack("<4f", 1, 2, 3, 4)


def safetensors_metadata(path: Path, pickled: bytes) -> None:
    made = safetensors({"pickle": pickled.decode("latin-1")})
    path.with_suffix(".safetensors").write_bytes(made)


def keras(path: Path, pickled: bytes) -> None:
    """A Lambda layer, and the pickle as every other member."""
    layer = {"class_name": "Lambda", "config": {"function": pickled.decode("latin-1")}}
    with zipfile.ZipFile(path.with_name(f"{path.name}_model.keras"), "w") as made:
        made.writestr("config.json", json.dumps({"layers": [layer]}))
        made.writestr("metadata.json", "{}")
        made.writestr("model.weights.h5", pickled)


FORMS: dict[str, Form] = {
    made.__name__: made
    for made in (
        *(zip_pickle, zip_other_records, zip_code, legacy, plain, lightning, hugging_face),
        *(hugging_face_bin, distributed_metadata, distributed_blob, deepspeed, numpy_archive),
        *(old_tar, safetensors_metadata, keras),
    )
}


def den(root: Path, canaries: Path) -> Path:
    """A folder with every gadget in every form; each has a canary of its own in ``canaries``."""
    canaries.mkdir()
    for form, write in FORMS.items():
        for gadget, made in GADGETS.items():
            home = root / form / gadget
            home.mkdir(parents=True)
            write(home / "step_1", made(str(canaries / f"{form}-{gadget}")))
    return root
