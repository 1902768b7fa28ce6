"""No code of a pickle runs: not at any level, in any form, by any command."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.verify import levels, unsafe_globals
from middlewatch.daemon.sources.checkpoint_dir import VERIFIER_ARGV

from .evil import FORMS, GADGETS, archive, den, safetensors

COMMAND = str(Path(sys.executable).with_name("middlewatch"))
HARMLESS = {"zip_other_records", "safetensors_metadata"}
"""Forms in which the gadget lies where no loader ever unpickles it."""
STATES = {"ok", "corrupt", "incomplete", "unverifiable"}


class Den:
    """A folder full of them. No test may leave a canary behind."""

    def __init__(self, root: Path) -> None:
        self.canaries = root / "canaries"
        self.forms = [str(path) for path in sorted(den(root / "den", self.canaries).iterdir())]
        self.home = root

    def quiet(self) -> None:
        """Nothing has run."""
        assert list(self.canaries.iterdir()) == []


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Den:
    return Den(tmp_path_factory.mktemp("evil"))


@pytest.fixture(autouse=True)
def quiet(evil: Den) -> Iterator[None]:
    yield
    evil.quiet()


def command(evil: Den, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """One command in a process of its own, with nothing known about runs."""
    state = str(evil.home / "state")
    return subprocess.run(
        [COMMAND, *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=evil.home,
        env={**os.environ, "MIDDLEWATCH_STATE_DIR": state, **environ},
    )


# ------------------------------------------------------------------------ they are real


@pytest.mark.parametrize("gadget", GADGETS)
def test_the_gadget_is_a_real_one(tmp_path: Path, gadget: str) -> None:
    class Unpickler(pickle.Unpickler):
        def persistent_load(self, pid: Any) -> Any:
            return pid

    canary = tmp_path / "canary"
    Unpickler(io.BytesIO(GADGETS[gadget](str(canary)))).load()
    assert canary.is_dir()


LOAD_ALL = """
import sys, torch, pathlib, warnings
warnings.simplefilter("ignore")
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*")):
    if path.suffix in (".pt", ".pth", ".ckpt", ".bin") and path.is_file():
        try:
            torch.load(path, weights_only=False)
        except Exception:
            pass
"""


def test_the_forms_are_real_ones(tmp_path: Path) -> None:
    """What torch.load does with them when nobody is careful."""
    pytest.importorskip("torch")
    root = den(tmp_path / "den", tmp_path / "canaries")
    subprocess.run([sys.executable, "-c", LOAD_ALL, str(root)], check=True, timeout=300)
    ran = {path.name for path in (tmp_path / "canaries").iterdir()}
    bad = {form: sorted(g for g in GADGETS if f"{form}-{g}" not in ran) for form in FORMS}
    # The storages of these are names that nobody has, and a torch archive knows what it wants.
    not_torch = {
        *("zip_other_records", "numpy_archive", "safetensors_metadata", "keras", "zip_code"),
        *("distributed_metadata", "distributed_blob", "old_tar", "plain"),
    }
    assert {form: missing for form, missing in bad.items() if form not in not_torch} == {
        form: [] for form in set(FORMS) - not_torch
    }


# ------------------------------------------------------------------------ every level


@pytest.mark.parametrize("level", ["structure", "checksum", "finite"])
def test_no_level_runs_anything(evil: Den, level: str) -> None:
    found = levels.verify(evil.forms, level)
    assert len(found) > len(FORMS) * len(GADGETS)
    assert {entry["state"] for entry in found} <= STATES
    assert [e["path"] for e in found if e["state"] != "ok" and len(e["detail"]) < 10] == []
    folders = {Path(e["path"]).name for e in found}
    assert {"checkpoint-10", "step_30", "step_40", "global_step50"} <= folders


@pytest.mark.parametrize("gadget", GADGETS)
def test_what_it_asks_for_is_told_without_loading(evil: Den, gadget: str) -> None:
    """A remark, at the cheapest level: a file that loads well may still be whole."""
    for form in ("zip_pickle", "lightning", "plain"):
        for entry in levels.verify([str(evil.home / "den" / form / gadget)], "structure"):
            if entry["state"] == "corrupt" or entry["detail"].startswith("not a known"):
                continue
            assert "its pickle imports " in entry["detail"], entry
            asked = entry["detail"].partition("its pickle imports ")[2]
            assert asked.startswith(("posix.", "__builtin__.exec", "_pickle.", "pickle."))


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("torch._utils._rebuild_tensor_v2", "collections.OrderedDict"), ""),
        (("pathlib.PosixPath", "builtins.getattr", "argparse.Namespace"), ""),
        (("os.system",), "os.system"),
        (("torch.hub.load", "a.b"), "torch.hub.load"),
        (("__builtin__.eval",), "__builtin__.eval"),
        (("sys.a", "sys.b", "sys.c", "sys.d"), "sys.a, sys.b, sys.c and more"),
    ],
)
def test_which_names_are_remarked(names: tuple[str, ...], told: str) -> None:
    remark = unsafe_globals.remark(names)
    assert remark == (f"its pickle imports {told}: unpickling it runs that" if told else "")


@pytest.mark.parametrize("level", ["structure", "finite"])
def test_what_could_run_code_is_never_ok(evil: Den, level: str) -> None:
    for form in set(FORMS) - HARMLESS:
        for entry in levels.verify([str(evil.home / "den" / form)], level):
            if level == "structure" and form == "distributed_blob":
                continue  # its items are opened when the data is read
            assert entry["state"] in ("unverifiable", "corrupt"), entry


def deflated(path: Path, pickle_: bytes) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/data.pkl", pickle_)
        file.writestr("archive/version", "3\n")
    return str(path)


def test_a_deflated_pickle_is_read_as_well(evil: Den, tmp_path: Path) -> None:
    gadget = GADGETS["reduce_system"](str(evil.canaries / "x"))
    (entry,) = levels.verify([deflated(tmp_path / "evil.pt", gadget)])
    assert (entry["state"], entry["detail"][:18]) == ("unverifiable", "its pickle imports")
    (entry,) = levels.verify([deflated(tmp_path / "good.pt", pickle.dumps({"step": 3}, 2))])
    assert entry["state"] == "ok"
    (entry,) = levels.verify([deflated(tmp_path / "long.pt", pickle.dumps(b"." * (5 << 20), 2))])
    assert entry["state"] == "unverifiable"
    assert "compressed and too long" in entry["detail"]
    whole = (tmp_path / "good.pt").read_bytes()
    at = whole.index(b"data.pkl") + len(b"data.pkl")
    (tmp_path / "good.pt").write_bytes(whole[:at] + b"\xff" * 4 + whole[at + 4 :])
    (entry,) = levels.verify([str(tmp_path / "good.pt")])
    assert entry["state"] == "corrupt"


def test_a_pickle_that_is_too_deep_to_follow_is_not_ok(tmp_path: Path) -> None:
    deep = b"\x80\x02" + b"]" * 5000 + b"a" * 4999 + b"."
    (tmp_path / "deep.pt").write_bytes(archive({"data.pkl": deep}))
    (entry,) = levels.verify([str(tmp_path / "deep.pt")])
    assert entry["state"] == "unverifiable"
    assert "nested deeper" in entry["detail"]


@pytest.mark.parametrize("packed", [False, True])
def test_an_array_of_objects_is_a_pickle(tmp_path: Path, packed: bool) -> None:
    numpy = pytest.importorskip("numpy")
    save = numpy.savez_compressed if packed else numpy.savez
    save(tmp_path / "model.npz", w=numpy.zeros(3), names=numpy.array(["a", None], object))
    (entry,) = levels.verify([str(tmp_path / "model.npz")])
    assert entry["state"] == "unverifiable"
    assert "names.npy is an array of Python objects" in entry["detail"]


def test_the_verifier_of_the_daemon_runs_nothing(evil: Den) -> None:
    places = [path for form in evil.forms for path in levels.expand(form)]
    with subprocess.Popen(VERIFIER_ARGV, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for path in places:
            for question in ({"path": path}, {"path": path, "level": "finite"}):
                answer: dict[str, Any] = {"more": True}
                while answer.get("more"):  # a second's worth, on a busy machine
                    child.stdin.write(json.dumps(question).encode() + b"\n")
                    child.stdin.flush()
                    answer = json.loads(child.stdout.readline())
                assert "error" not in answer, answer
                assert answer["state"] in STATES
        child.stdin.close()
        assert child.wait(120) == 0


def test_deep_runs_nothing_and_says_what_it_would_have_been(evil: Den) -> None:
    """Also where the environment tells torch to throw all caution away."""
    pytest.importorskip("torch")
    (evil.home / "torch.py").write_text(f"import os; os.mkdir({str(evil.canaries / 'cwd')!r})")
    told = command(
        evil,
        *("verify", "--deep", "--json", *evil.forms),
        TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD="1",
        PYTHONPATH=":.",
    )
    assert told.returncode == 1, told.stderr
    found = json.loads(told.stdout)
    of_form: dict[str, list[dict[str, Any]]] = {}
    for entry in found:
        form = Path(entry["path"]).relative_to(evil.home / "den").parts[0]
        of_form.setdefault(form, []).append(entry)
    assert set(of_form) == set(FORMS)
    for form in set(FORMS) - HARMLESS:
        for entry in of_form[form]:
            assert entry["state"] in ("unverifiable", "corrupt"), entry
            assert entry["level"] != "load", entry
    loaded = Counter(form for form, all_ in of_form.items() for e in all_ if e["level"] == "load")
    assert set(loaded) <= HARMLESS


def test_what_is_named_is_named_in_full(evil: Den, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "a.pt"
    path.write_bytes(archive({"data.pkl": GADGETS["reduce_system"](str(evil.canaries / "x"))}))
    (entry,) = json.loads(command(evil, "verify", "--deep", "--json", str(path)).stdout)
    assert entry["state"] == "unverifiable"
    assert entry["detail"] == "its pickle imports posix.system: unpickling it runs that"


@pytest.mark.parametrize("words", [("audit",), ("checkpoints",), ("prune", "--dir", "den")])
def test_no_other_command_runs_anything(evil: Den, words: tuple[str, ...]) -> None:
    assert command(evil, *words, "--json").returncode in (0, 1, 2, 3, 4)


SCRIPT = """
import sys, torch

class Writes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.w

    @torch.jit.export
    def __getstate__(self):
        return (self.w, self.training)

    @torch.jit.export
    def __setstate__(self, state: tuple[torch.Tensor, bool]):
        torch.save(state[0], "CANARY")
        self.w = state[0]
        self.training = state[1]

torch.jit.save(torch.jit.script(Writes()), sys.argv[1])
torch.jit.load(sys.argv[1])
"""


def test_a_real_torchscript_program_is_not_run(evil: Den, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path, script, canary = tmp_path / "model.pt", tmp_path / "script.py", evil.canaries / "script"
    script.write_text(SCRIPT.replace("CANARY", str(canary)))
    made = [sys.executable, "-W", "ignore", str(script), str(path)]
    subprocess.run(made, check=True, timeout=300)
    canary.unlink()  # it is a real one: loading it has written this file
    (entry,) = json.loads(command(evil, "verify", "--deep", "--json", str(path)).stdout)
    assert "TorchScript" in entry["detail"] or entry["state"] != "ok", entry
    assert entry["level"] != "load"


# ------------------------------------------------------------------------ names that lead away


@pytest.mark.parametrize(
    "name", ["../../canary", "/tmp/canary", "archive/../../canary", "a\\..\\b"]
)
def test_records_that_lead_out_of_their_archive(tmp_path: Path, name: str) -> None:
    path = tmp_path / "home" / "a.pt"
    path.parent.mkdir()
    path.write_bytes(archive({}))
    with zipfile.ZipFile(path, "a") as made:
        made.writestr(name, b"out")
    before = sorted(tmp_path.rglob("*"))
    entry = levels.describe(str(path))
    assert entry["state"] == "corrupt"
    assert "leads out of the archive" in entry["detail"]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("shard", ["../secret.safetensors", "/etc/passwd", "sub/../../x", ".."])
def test_shards_that_lead_out_of_their_folder(tmp_path: Path, shard: str) -> None:
    (tmp_path / "secret.safetensors").write_bytes(safetensors())
    folder = tmp_path / "model"
    folder.mkdir()
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": {"w": shard}}))
    for path in (index, folder):
        (entry,) = levels.verify([str(path)])
        assert entry["state"] in ("corrupt", "incomplete"), entry
        assert "names no plain file" in entry["detail"] or "missing" in entry["detail"]


def test_latest_that_leads_away(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "latest").write_text("../../../etc")
    found = levels.verify([str(tmp_path / "out")])
    assert [e["state"] for e in found] == ["incomplete"]
    assert "which is not there" in found[0]["detail"]
