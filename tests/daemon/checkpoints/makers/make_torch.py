"""Good checkpoints as people write them with torch.save. Usage: make_torch.py FOLDER."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import importlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Any, not the module: the types of these libraries are not what is tested.
torch: Any = importlib.import_module("torch")
numpy: Any = importlib.import_module("numpy")
nn: Any = torch.nn
NAN, INF = float("nan"), float("inf")
HALVES = (
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
)


class Net(nn.Module):
    """A small model with a tied head, running statistics and a causal mask."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(64, 32)
        self.layers = nn.ModuleList([nn.Linear(32, 32) for _ in range(3)])
        self.norm = nn.BatchNorm1d(32)
        self.head = nn.Linear(32, 64, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("bias", torch.full((16, 16), -INF).triu(1))

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens)
        for layer in self.layers:
            x = x + layer(x).relu()
        return self.head(self.norm(x))


@dataclasses.dataclass
class Settings:
    """A configuration object of one's own, pickled with the weights."""

    lr: float = 3e-4
    grad_clip: float = INF


def trained(make: Any, **options: Any) -> tuple[Any, Any]:
    """A model after three steps of an optimizer."""
    model = Net()
    optimizer = make(model.parameters(), **options)
    for _ in range(3):
        tokens = torch.randperm(64)  # all of them: no row stays without a gradient
        nn.functional.cross_entropy(model(tokens), tokens).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


def full() -> dict[str, Any]:
    """Everything that a careful person saves."""
    model, optimizer = trained(torch.optim.AdamW)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": schedule.state_dict(),
        "scaler": torch.amp.GradScaler("cpu").state_dict(),
        "rng": {
            "python": random.getstate(),
            "numpy": numpy.random.get_state(),
            "torch": torch.get_rng_state(),
        },
        "args": argparse.Namespace(lr=3e-4, out=Path("runs/a"), betas=(0.9, 0.95)),
        "settings": Settings(),
        "step": 1200,
        "epoch": 3,
        "best_val_loss": numpy.float64(2.5),
        "history": collections.defaultdict(list, loss=[3.5, 3.0]),
    }


def every_type() -> dict[str, Any]:
    found = {f"float{n}": torch.randn(33, 5).to(getattr(torch, f"float{n}")) for n in (64, 32)}
    found |= {name: torch.randn(33, 5).to(getattr(torch, name)) for name in HALVES}
    found |= {f"complex{n}": torch.randn(9, dtype=getattr(torch, f"complex{n}")) for n in (64, 128)}
    found["complex32"] = torch.randn(9).to(torch.complex32)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        found[name] = torch.full((7,), -1 if name[0] == "i" else 255).to(getattr(torch, name))
    found["bool"] = torch.tensor([True, False])
    # All bytes there are: in whole numbers, the pattern of a NaN is a number.
    found["patterns"] = torch.arange(256, dtype=torch.uint8).repeat(8)
    return found


def views() -> dict[str, Any]:
    """Views of larger storages, which are saved whole: what lies outside is nobody's weight."""
    large = torch.full((64, 64), NAN)
    large[8:24] = torch.randn(16, 64)
    odd = torch.full((64,), NAN)
    odd[::2] = 1.0
    columns = torch.full((20, 20), NAN)
    columns[:, 3:9] = 2.0
    return {
        "rows": large[8:24],
        "turned": large[8:24].t(),
        "one": large[8, 5],
        "every.second": odd[::2],
        "columns": columns[:, 3:9],
        "spread": torch.ones(1).expand(50),
        "flipped": torch.randn(4, 4, dtype=torch.complex64).conj(),
        "minus": torch.randn(4, dtype=torch.complex64).conj().imag,
    }


def masks() -> dict[str, Any]:
    causal = torch.full((32, 32), -INF).triu(1)
    return {
        "model": {
            "h.0.attn.bias": causal,
            "h.0.attn.half": causal.to(torch.bfloat16),
            "attn_mask": torch.tensor([[0.0, -INF, INF]]),
            "smallest": torch.full((4, 4), torch.finfo(torch.float32).min),
            "largest": torch.full((4, 4), torch.finfo(torch.float16).max, dtype=torch.float16),
            "tiny": torch.full((9,), 5e-324, dtype=torch.float64),
            "h.0.attn.weight": torch.randn(32, 32),
        }
    }


def callbacks() -> dict[str, Any]:
    """What callbacks remember may be infinite, or nothing."""
    return {
        "state_dict": Net().state_dict(),
        "callbacks": {
            "EarlyStopping": {"best_score": torch.tensor(INF), "wait_count": 0},
            "Checkpoint": {"best_model_score": torch.tensor(-INF), "kth_value": torch.tensor(NAN)},
        },
        "metrics": {"val_loss": NAN, "bleu": numpy.float32(NAN), "best": -INF},
        "best_score": INF,
        "global_step": 77,
        "epoch": 1,
    }


def averaged() -> dict[str, Any]:
    model, optimizer = trained(torch.optim.SGD, lr=0.1, momentum=0.9, nesterov=True)
    ema = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
    )
    ema.update_parameters(model)
    return {
        "model": model.state_dict(),
        "ema": ema.state_dict(),
        "optimizer": optimizer.state_dict(),
    }


def sparse() -> dict[str, Any]:
    dense = torch.zeros(20, 20)
    dense[3, 4] = 1.5
    return {"coordinates": dense.to_sparse(), "csr": dense.to_sparse_csr(), "dense": torch.randn(5)}


def quantized() -> dict[str, Any]:
    weights = torch.randn(8, 8)
    scales = torch.full((8,), 0.1, dtype=torch.float64)
    points = torch.zeros(8, dtype=torch.int64)
    return {
        "tensor": torch.quantize_per_tensor(weights, 0.1, 0, torch.qint8),
        "channel": torch.quantize_per_channel(weights, scales, points, 0, torch.qint8),
        "plain": weights,
    }


def with_optimizer(make: Any, **options: Any) -> dict[str, Any]:
    model, optimizer = trained(make, **options)
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "iter_num": 3}


def everything() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Name of the file, what is saved, and options of torch.save."""
    old = {"_use_new_zipfile_serialization": False}
    optim = torch.optim
    yield "weights.pt", Net().state_dict(), {}
    yield "full.pt", full(), {}
    yield "types.pt", every_type(), {}
    yield "views.pt", views(), {}
    yield "masks.pt", masks(), {}
    yield "callbacks.pt", callbacks(), {}
    yield "amsgrad.pt", with_optimizer(optim.AdamW, amsgrad=True), {}
    yield "adafactor.pt", with_optimizer(optim.Adafactor), {}
    yield "rmsprop.pt", with_optimizer(optim.RMSprop, centered=True, momentum=0.5), {}
    yield "rprop.pt", with_optimizer(optim.Rprop), {}
    yield "ema.pth", averaged(), {}
    yield "sparse.pt", sparse(), {}
    yield "quantized.pt", quantized(), {}
    yield "module.pt", Net(), {}
    yield "parameter.pt", nn.Parameter(torch.randn(5, 5)), {}
    yield "list.pt", [torch.randn(3), (torch.zeros(0, 7), torch.tensor(1.0)), None], {}
    yield "nothing.pt", {"step": 5, "notes": "no tensors at all"}, {}
    yield "empty_tensors.pt", {"a": torch.zeros(0), "b": torch.zeros(3, 0), "c": torch.ones(1)}, {}
    yield "many.pt", {f"layers.{i}.weight": torch.randn(8) for i in range(5000)}, {}
    yield "检查点 第三步=40 é.pt", {"模型": Net().state_dict(), "step": 40}, {}
    yield "protocol_5.pt", full(), {"pickle_protocol": 5}
    yield "big.pt", {"model": {"w": torch.randn(18, 1 << 20)}, "step": 9}, {}
    yield "numbers.pt", {"a": numpy.ones(4), "b": {"c": numpy.full(3, NAN)}, "w": torch.ones(3)}, {}
    yield "old_weights.pt", Net().state_dict(), old
    yield "old_full.pth", full(), old
    yield "old_amsgrad.pt", with_optimizer(optim.AdamW, amsgrad=True), old
    yield "old_types.pt", every_type() | {"again": torch.ones(3)}, old
    yield "old_views.pt", views(), old
    yield "old_masks.pt", masks(), old
    yield "old_callbacks.pt", callbacks(), old
    yield "old_module.pt", Net(), old
    yield "old_many.pt", {f"layers.{i}.weight": torch.randn(8) for i in range(2000)}, old


def main(home: Path) -> None:
    torch.manual_seed(5)
    torch.set_num_threads(1)
    for name, what, options in everything():
        torch.save(what, home / name, **options)
    torch.serialization.set_crc32_options(False)
    torch.save(full(), home / "no_sums.pt")
    torch.serialization.set_crc32_options(True)
    config = importlib.import_module("torch.utils.serialization").config
    before, config.save.storage_alignment = config.save.storage_alignment, 4096
    torch.save(full(), home / "aligned.pt")
    config.save.storage_alignment = before
    traced = torch.jit.trace(Net().eval(), torch.zeros(2, dtype=torch.int64))
    torch.jit.save(traced, home / "script.pt")
    small = Net()
    torch.save({"w": next(small.parameters()).detach(), "epoch": 4}, home / "model_epoch_4.tar")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
