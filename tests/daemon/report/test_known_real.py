"""First steps for what Python, NumPy and PyTorch really say when a program does the wrong thing."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from middlewatch.daemon.report.known_errors import known_step

PLAIN = {
    "x = {}; x['target']": "without 'target'",
    "print(undefined_name)": "`undefined_name` is used before",
    "len(None)": "print what is None there",
    "None.shape": "print what is None there",
    "a, b = (1,)": "2 values are expected there",
    "[][0]": "print the list and the index",
    "1 / len([])": "print what it divides by",
    "float('n/a')": "'n/a'",
    "compile('if True\\n  x', 'f.py', 'exec')": "python -m py_compile FILE",
    "import json; json.loads('')": "python -m json.tool",
    "b'\\xff'.decode()": "in its own encoding",
    "import math; math.exp(1e4)": "print what goes into this function",
    "import pickle; pickle.loads(b'')": "look at the size of the file",
    "import pickle; pickle.loads(b'version https://git-lfs')": "git lfs pull",
    "import pickle; pickle.dumps(lambda: 0)": "cannot be pickled",
    "import gzip, io; gzip.open(io.BytesIO(b'<html>')).read()": "look at its size and its first bytes",
    "import zipfile, io; zipfile.ZipFile(io.BytesIO(b'x'))": "look at its size and its first bytes",
    "def f(a): pass\nf()": "give the call what it misses, 'a'",
    "def f(a): pass\nf(1, 2)": "compare the call with what the function takes",
    "def f(a): pass\nf(b=1)": "`b` is not known to the installed version",
    "import json; json.no_such": "json of this version has no no_such",
    "from json import no_such": "json of this version has no no_such",
    "'a'.nothing": "str has no nothing",
    "1 + 'a'": "print the type and the value",
    "def f():\n    f()\nf()": "which function calls itself",
    "def f():\n    for x in []: y = 1\n    return y\nf()": "in a branch or a loop that was not entered",
    "import tempfile, os; os.makedirs(tempfile.gettempdir())": "look at what is in that folder",
    "open('/')": "look at the path that the message names",
    "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); socket.socket().bind(s.getsockname())": "ss -ltnp",
    "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); p = s.getsockname(); s.close(); socket.create_connection(p)": "nothing listens there",
}  # fmt: skip
NUMPY = {
    "np.zeros(3)[5]": "index 5 is asked of 3",
    "np.zeros(7).reshape(2, 4)": "7 values do not fit into the shape (2,4)",
    "np.array([[1, 2], [3]])": "print the lengths and types of the elements",
    "np.zeros((2, 3)) + np.zeros((4, 5))": "print both shapes",
    "np.zeros(0).max()": "the data is empty at that place",
    "np.linalg.inv(np.zeros((2, 2)))": "count the values that are no numbers in the matrix",
    "bool(np.zeros(3) > 1) and 1": "one number is expected and an array comes",
    "np.empty((1 << 24, 1 << 24))": "do not make this array of",
}
TORCH = {
    "nn.Linear(4, 2)(torch.zeros(3, 5))": "a linear layer gets 3x5 and has 4x2",
    "nn.Conv2d(3, 8, 3)(torch.zeros(2, 1, 8, 8))": "the layer wants 3 channels and gets 1",
    "nn.Conv2d(3, 8, 9)(torch.zeros(2, 3, 4, 4))": "the input is too small",
    "nn.BatchNorm1d(4)(torch.zeros(1, 4))": "the last batch has one sample",
    "nn.Embedding(4, 2)(torch.tensor([9]))": "an index is larger than its embedding",
    "F.cross_entropy(torch.zeros(3, 4), torch.tensor([0, 1, 9]))": "count the values of the labels",
    "F.cross_entropy(torch.zeros(3, 4), torch.zeros(2).long())": "the model gives 3 rows for 2 answers",
    "F.cross_entropy(torch.zeros(3, 4), torch.zeros(3, 1).long())": "labels.squeeze(1)",
    "F.binary_cross_entropy(torch.full((3,), 2.0), torch.zeros(3))": "binary_cross_entropy_with_logits",
    "F.binary_cross_entropy(torch.zeros(3, 1), torch.zeros(3))": "the answers have the shape [3] and the outputs [3, 1]",
    "torch.zeros(7).view(2, 4)": "7 values do not fit into the shape [2, 4]",
    "torch.zeros(2, 3).t().view(6)": "use `.reshape(...)`",
    "torch.zeros(2, 3) + torch.zeros(4, 5)": "print both shapes",
    "torch.stack([torch.zeros(2), torch.zeros(3)])": "samples of one batch have the sizes [2] and [3]",
    "torch.zeros(2, requires_grad=True).numpy()": "tensor.detach().cpu().numpy()",
    "torch.zeros(2).sum().backward()": "requires_grad=False",
    "x = torch.zeros(2, requires_grad=True); (x * x).backward()": "take the mean of the loss",
    "x = torch.zeros(2, requires_grad=True); x += 1": "under `torch.no_grad()`",
    "x = torch.ones(2, requires_grad=True); y = (x * x).sum(); y.backward(); y.backward()": "detach what is carried",
    "x = torch.ones(2, requires_grad=True); y = x.exp(); y += 1; y.sum().backward()": "set_detect_anomaly",
    "x = torch.zeros(2, requires_grad=True)\nwith torch.autograd.detect_anomaly(): (x.sqrt() * 0).sum().backward()": "SqrtBackward0 gives the first NaN",
    "torch.optim.SGD([])": "nn.ModuleList",
    "torch.multinomial(torch.tensor([float('nan')]), 1)": "count from where",
    "torch.distributions.Normal(torch.tensor([float('nan')]), 1.0)": "count from where",
    "torch.linalg.cholesky(-torch.eye(3))": "count the values that are no numbers in the matrix",
    "nn.Linear(2, 2).load_state_dict(nn.Linear(3, 2).state_dict())": "weight has the shape [2, 3] in the save and [2, 2] in this model",
    "nn.Linear(2, 2).load_state_dict({})": "compare the names of the layers",
    "nn.Linear(2, 2).load_state_dict({'module.weight': torch.zeros(2, 2)})": "has the prefix `module.`",
    "a = torch.optim.SGD([torch.zeros(1)]); b = torch.optim.SGD([torch.zeros(1)] * 1 + [torch.ones(1)]); a.load_state_dict(b.state_dict())": "compare what is trained now",
    "torch.load(io.BytesIO(b'PK' + b'x' * 99))": "look at the size of the file",
    "s = torch.optim.lr_scheduler.OneCycleLR(torch.optim.SGD([torch.zeros(1)], 1.0), 1.0, 3)\nfor _ in range(9): s.step()": "the schedule was made for 3 steps",
    "nn.MultiheadAttention(5, 2)": "a multiple of the number of attention heads",
    "torch.distributed.init_process_group('gloo')": "start it with a launcher",
    "torch.distributed.barrier()": "init_process_group",
    "torch.utils.data.RandomSampler([])": "the data set is empty",
    "torch.utils.data.default_collate([None])": "a sample is None",
    "torch.tensor([[1, 2], [3]])": "samples of one batch have different lengths",
    "torch.tensor(np.array([None]))": "print the lengths and types of the elements",
    "nn.Linear(2, 2).half()(torch.zeros(1, 2))": "give both the same type",
    "torch.zeros(2).item()": "one number is expected and an array comes",
}
_CHILD = """
import json, sys, warnings
warnings.filterwarnings("ignore")
names = {"io": __import__("io"), "__file__": "/dev/null"}
for name in ("numpy", "torch"):
    try:
        names["np" if name == "numpy" else name] = __import__(name)
    except ImportError:
        pass
if "torch" in names:
    names["nn"], names["F"] = names["torch"].nn, names["torch"].nn.functional
    import torch.distributed
said = {}
for code in json.load(sys.stdin):
    try:
        exec(code, dict(names))
    except BaseException as error:
        said[code] = f"{type(error).__name__}: {error}"
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each of the programs ended with."""
    codes = json.dumps([*PLAIN, *NUMPY, *TORCH])
    folder: Path = tmp_path_factory.mktemp("real")
    child = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=codes,
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        check=True,
    )
    told: dict[str, str] = json.loads(child.stdout.splitlines()[-1])
    return told


@pytest.mark.parametrize(("code", "step"), PLAIN.items())
def test_what_python_says(said: dict[str, str], code: str, step: str) -> None:
    assert step in known_step(said[code]), said[code]


@pytest.mark.skipif(find_spec("numpy") is None, reason="no numpy")
@pytest.mark.parametrize(("code", "step"), NUMPY.items())
def test_what_numpy_says(said: dict[str, str], code: str, step: str) -> None:
    assert step in known_step(said[code]), said[code]


@pytest.mark.skipif(find_spec("torch") is None, reason="no torch")
@pytest.mark.parametrize(("code", "step"), TORCH.items())
def test_what_torch_says(said: dict[str, str], code: str, step: str) -> None:
    assert step in known_step(said[code]), said[code]
