"""The loader: a separate program that loads checkpoint files with torch, one question a line.

It runs under the python of the training, whatever that is (3.8 and later, torch 1.13 and
later). Its text and that of the modules that it imports come on its stdin (see ``loader``), so middlewatch need
not be installed there. Input, first line: ``{"memory": BYTES}``. Then one line a file: ``{"path",
"kind": "torch"|"safetensors"|"slices"|"sharded", "slices": [[start, bytes], …]}``; ``sharded`` is a folder
with a ``.metadata``. Output: ``{"ready":
true, "torch", "walls"}``, then for every file ``{"at": BYTES}`` now and then, and at last
``{"path", "state", "detail", "tensors"}``. ``state`` is ``ok``; ``corrupt``: torch cannot load it
because it is damaged; ``refused``: loading it would run code, so it is not loaded (``detail``
names the code); ``unverifiable``: it cannot be loaded here.

No code in a file is run, by these measures. An archive with TorchScript is not loaded (torch
before 2.6 hands it to another loader even with ``weights_only``). The pickle is first read opcode
by opcode, with the same reader that torch uses, and not loaded if it names anything that is not
on torch's own list and no plain object of :mod:`.plain_objects`. torch loads it with ``weights_only=True``, never without. And the kernel
forbids this process to start programs, to open sockets and to write, rename or remove files,
because ``weights_only`` has had security holes (CVE-2025-32434, CVE-2026-24747).
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import sys
import time
import warnings
from typing import Any

from . import sharded
from .looking import ZIP, Impossible, Refused, Slice, look_first
from .plain_objects import accepted
from .sandbox import bounded, enter, left_as_it_was, step_back

TELL_EVERY_S = 0.5
# Messages of torch's restricted unpickler about something that is not plain data.
_REFUSALS = (
    "Unsupported global",
    "Unsupported class",
    "Unsupported operand",
    "not an allowed global",
    "is blocked",
    "Trying to call reduce",
    "Trying to instantiate",
    "Can only build",
    "Can only create",
    "Can only SET",
    "TorchScript",
    ".tar format",
    "is not plain",
    "to load",
)
_NO_MEMORY = ("allocate memory", "out of memory", "Cannot allocate", "unable to mmap")


# ------------------------------------------------------------------------ loading


class Loader:
    """Loads the files that it is asked about, with a limit on memory (bytes)."""

    def __init__(self, torch: Any, memory: int) -> None:
        self._torch = torch
        self._memory = memory
        self._told_at = 0.0

    def load(self, question: dict[str, Any]) -> dict[str, Any]:
        """Answer one question; raises nothing."""
        path = question["path"]
        try:
            with contextlib.ExitStack() as kept:
                for file in sharded.files(path) if question["kind"] == "sharded" else [path]:
                    kept.enter_context(left_as_it_was(file))
                count = self._one(path, question)
            return {"path": path, "state": "ok", "detail": "", "tensors": count}
        except Refused as why:
            state, detail = "refused", str(why)
        except Impossible as why:
            state, detail = "unverifiable", str(why)
        except LookupError as why:
            state, detail = self._lookup(why)
        except OSError as why:
            state, detail = "unverifiable", why.strerror or str(why)
        except MemoryError:
            state, detail = "unverifiable", f"it needs more than {self._memory} bytes of memory"
        except Exception as why:  # noqa: BLE001 (whatever torch says about the file is the answer)
            state, detail = self._judge(why)
        return {"path": path, "state": state, "detail": " ".join(detail.split())[:400]}

    def _one(self, path: str, question: dict[str, Any]) -> int:
        if question["kind"] == "safetensors":
            return self._safetensors(path)
        if question["kind"] == "slices":
            return self._slices(path, question["slices"])
        if question["kind"] == "sharded":
            return sharded.load(self._torch, path, self._memory, self._tell)
        return self._file(path)

    def _lookup(self, why: LookupError) -> tuple[str, str]:
        if type(why) is LookupError:  # ours; a KeyError is torch's
            return "refused", f"it needs more names than torch's own: {why}"
        return self._judge(why)

    def _judge(self, why: Exception) -> tuple[str, str]:
        text = str(why) or type(why).__name__
        if any(words in text for words in _NO_MEMORY):
            return "unverifiable", f"it needs more than {self._memory} bytes of memory"
        if isinstance(why, (pickle.UnpicklingError, RuntimeError)):
            said = text[text.find("WeightsUnpickler error:") :] if "WeightsUnp" in text else text
            if any(words in said for words in _REFUSALS):
                return "refused", "torch does not accept it as plain data: " + said.strip()[:200]
        return "corrupt", f"{type(why).__name__}: {text}"

    def _file(self, path: str) -> int:
        torch = self._torch
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            with bounded(size + self._memory):
                needed = look_first(torch, file)
                options = {"weights_only": True, "map_location": "cpu"}
                if file.read(4) == ZIP and takes(torch.load, "mmap"):
                    options["mmap"] = True
                elif size > self._memory:
                    raise Impossible(
                        f"it needs {size} bytes of memory, because it cannot be mapped"
                    )
                # By descriptor: the same file that was examined, even if its path was replaced.
                with accepted(torch, needed):
                    loaded = torch.load(f"/proc/self/fd/{file.fileno()}", **options)
                return tensors_in(torch, loaded)

    def _slices(self, path: str, slices: list[list[int]]) -> int:
        count = 0
        size = os.path.getsize(path)
        for start, length in slices:
            if start < 0 or length <= 0 or start + length > size:
                raise ValueError(f"an item at byte {start} reaches past the end of the file")
            if length > self._memory:
                raise Impossible(f"it needs {length} bytes of memory for one tensor")
            with bounded(2 * length + self._memory), Slice(path, start, length) as file:
                with accepted(self._torch, look_first(self._torch, file)):
                    loaded = self._torch.load(file, weights_only=True, map_location="cpu")
                count += tensors_in(self._torch, loaded)
            self._tell(start + length)
        return count

    def _safetensors(self, path: str) -> int:
        try:
            from safetensors import safe_open
        except ImportError:
            raise Impossible("the python that loads it has no safetensors") from None
        count = 0
        size = os.path.getsize(path)
        with bounded(2 * size + self._memory), safe_open(path, "pt", device="cpu") as file:
            names = list(file.keys())
            for name in names:
                tensor = file.get_tensor(name)
                tensor.reshape(-1)[:1].tolist()
                count += 1
                self._tell(size * count // len(names))
        return count

    def _tell(self, at: int) -> None:
        """Report how far it is, at most every :data:`TELL_EVERY_S` seconds."""
        now = time.monotonic()  # noqa: TID251 (a program of its own)
        if now - self._told_at > TELL_EVERY_S:
            self._told_at = now
            write_answer({"at": at})


def takes(function: Any, name: str) -> bool:
    """Whether a function has a parameter of that name."""
    import inspect

    return name in inspect.signature(function).parameters


def tensors_in(torch: Any, loaded: Any) -> int:
    """Number of tensors in a loaded object; reads the first element of each."""
    count, todo, seen = 0, [loaded], set()
    while todo:
        one = todo.pop()
        if isinstance(one, torch.Tensor):
            count += 1
            if one.layout == torch.strided and one.numel() and one.device.type == "cpu":
                one.detach().as_strided((1,), (1,)).tolist()
        elif isinstance(one, (dict, list, tuple, set)) and id(one) not in seen:
            seen.add(id(one))
            todo += one.values() if isinstance(one, dict) else one
    return count


def write_answer(answer: dict[str, Any]) -> None:
    """Write an answer as one line of JSON."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main() -> int:
    """Answer questions until stdin ends."""
    step_back()
    memory = int(json.loads(sys.stdin.readline())["memory"])
    warnings.simplefilter("ignore")
    try:
        import torch
    except Exception as error:  # noqa: BLE001 (a broken torch fails in many ways)
        write_answer({"ready": False, "why": f"{type(error).__name__}: {str(error)[:300]}"})
        return 0
    with contextlib.suppress(ImportError):
        import numpy  # noqa: F401, ICN001 (likewise)
    with contextlib.suppress(ImportError):
        import safetensors.torch  # noqa: F401 (before the sandbox: it may be compiled now)
    if not takes(torch.load, "weights_only"):
        write_answer({"ready": False, "why": f"torch {torch.__version__} has no weights_only"})
        return 0
    torch.set_num_threads(1)
    write_answer({"ready": True, "torch": str(torch.__version__), "walls": enter()})
    loader = Loader(torch, memory)
    for line in sys.stdin:
        write_answer(loader.load(json.loads(line)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
