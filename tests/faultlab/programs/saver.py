"""A real small model that is saved again and again, and what may become of its saves.

    saver.py MODE [--manner numbered|folder|sharded|…] [--at STEP] [--save-every N] [--out DIR]

MODE is what goes wrong with the saves from STEP on, ``none`` for the healthy run. MANNER is how
they are written, and what else lies beside them.
"""

import argparse
import json
import math
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tests.faultlab.programs.stamp import injected
from torch import nn
from torch.nn import functional as F  # noqa: N812

MODES = ("none", "nan_weights", "nan_loss", "no_optimizer", "lost_shard", "saves_stop")
LETTERS, WIDTH, BATCH = 96, 64, 32
UNSEEN = 3
"""Tokens at the end of the table that no sample has: what stands there never meets the loss."""


class Model(nn.Module):
    """The next token from the last one, by a rule that can be learnt."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(LETTERS, WIDTH)
        self.hidden = nn.Linear(WIDTH, 4 * WIDTH)
        self.head = nn.Linear(4 * WIDTH, LETTERS)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.head(F.gelu(self.hidden(self.token(x))))
        return scores


class Trainer:
    """Model, optimizer, step and where saves go."""

    def __init__(self, out: Path, keep: int, size: int) -> None:
        self.out, self.keep = out, keep
        self.model = Model()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.step, self.saves, self.best = 0, 0, math.inf
        self.without: set[str] = set()
        """Parts that the next save lacks."""
        self.ballast = torch.randn(size // 4) if size else None

    def train(self) -> float:
        x = torch.randint(LETTERS - UNSEEN, (BATCH,))
        noise = torch.randint(LETTERS - UNSEEN, (BATCH,))  # a rule alone is learnt to a loss of 0
        y = torch.where(torch.rand(BATCH) < 0.2, noise, (7 * x + 3) % (LETTERS - UNSEEN))
        loss = F.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        self.optimizer.step()
        self.step += 1
        return float(loss)

    def weights(self) -> dict[str, torch.Tensor]:
        found = {name: one.clone() for name, one in self.model.state_dict().items()}
        return found if self.ballast is None else {**found, "table": self.ballast}

    def state(self) -> dict[str, Any]:
        whole = {
            "model": self.weights(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
        }
        return {name: part for name, part in whole.items() if name not in self.without}

    def prune(self, pattern: str) -> None:
        """Delete all but the newest ones."""
        saves = sorted(self.out.glob(pattern), key=lambda p: p.stat().st_mtime_ns)
        for old in saves[: -self.keep] if self.keep else ():
            shutil.rmtree(old) if old.is_dir() else old.unlink()


def numbered(one: Trainer) -> None:
    torch.save(one.state(), one.out / f"step-{one.step}.pt")
    one.prune("step-*.pt")


def safe(one: Trainer) -> None:
    """Weights alone, in a format without checksums."""
    save_file(one.weights(), one.out / f"model-{one.step}.safetensors")


def folder(one: Trainer, shards: int = 1) -> None:
    """A folder as transformers writes it."""
    here = one.out / f"checkpoint-{one.step}"
    here.mkdir()
    weights = one.weights()
    if shards == 1:
        save_file(weights, here / "model.safetensors", {"format": "pt"})
    else:
        names = sorted(weights)
        where = {n: f"model-{i % shards + 1:05}-of-{shards:05}" for i, n in enumerate(names)}
        for shard in sorted(set(where.values())):
            if "shard" in one.without and shard.startswith("model-00002"):
                continue
            part = {name: weights[name] for name in names if where[name] == shard}
            save_file(part, here / f"{shard}.safetensors", {"format": "pt"})
        index = {"weight_map": {name: f"{shard}.safetensors" for name, shard in where.items()}}
        (here / "model.safetensors.index.json").write_text(json.dumps(index))
    if "optimizer" not in one.without:
        torch.save(one.optimizer.state_dict(), here / "optimizer.pt")
    torch.save({"cpu": torch.get_rng_state()}, here / "rng_state.pth")
    (here / "trainer_state.json").write_text(json.dumps({"global_step": one.step}))
    one.prune("checkpoint-*")


def sharded(one: Trainer) -> None:
    folder(one, shards=3)


def infinite(one: Trainer) -> None:
    """Everything in a save that may be infinite; the best weights alone beside the full ones."""
    mask = torch.full((64, 64), -math.inf).triu(1)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(one.optimizer)
    state = one.state()
    state["model"] |= {
        "block.bias": mask,
        "block.hidden": torch.full((64,), -math.inf),
        "block.attention_mask": torch.where(mask < 0, mask, 0.5),
        "least": torch.tensor(math.inf),
    }
    stopping = {"best_score": torch.tensor(math.inf), "wait_count": 0, "min_delta": -0.0}
    more = {"best_score": math.inf, "callbacks": {"EarlyStopping": stopping}}
    torch.save({**state, **more, "plateau": plateau.state_dict()}, one.out / f"step-{one.step}.pt")
    torch.save(one.weights(), one.out / "best.pt")


def in_place(one: Trainer) -> None:
    """Always the same file, with no temporary name."""
    torch.save(one.state(), one.out / "last.pt")


def adapters(one: Trainer) -> None:
    """The whole model now and then, its small adapters each time, and an export in half."""
    if one.saves % 4 == 1:
        folder(one)
    here = one.out / f"adapter-{one.step}"
    here.mkdir()
    down = {"base.head.lora_A.weight": torch.randn(4, WIDTH)}
    save_file(
        {**down, "base.head.lora_B.weight": torch.zeros(WIDTH, 4)},
        here / "adapter_model.safetensors",
    )
    (here / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 4}))
    half = {name: weight.half() for name, weight in one.weights().items()}
    save_file(half, one.out / "export.safetensors")


def halves(one: Trainer) -> None:
    """Narrow types, tied weights and views of a storage that holds more than is seen of it."""
    state = one.state()
    pool = torch.full((3, LETTERS, WIDTH), math.nan, dtype=torch.bfloat16)
    pool[1] = state["model"]["token.weight"]
    state["model"] = {name: weight.bfloat16() for name, weight in state["model"].items()}
    state["model"] |= {"token.weight": pool[1], "tied.weight": pool[1], "turned": pool[1].T}
    state["scaler"] = {"scale": 65536.0, "growth": torch.zeros(0), "half": torch.ones(9).half()}
    torch.save(state, one.out / f"step-{one.step}.pt")


def beside(one: Trainer) -> None:
    """Data and a compiler's cache in the same folder; samples may lack values."""
    numbered(one)
    data, cache = one.out / "data", one.out / "cache" / "inductor" / f"{one.step:x}"
    data.mkdir(exist_ok=True)
    cache.mkdir(parents=True)
    torch.save(
        {"x": torch.full((64, 8), math.nan), "y": torch.zeros(64)}, data / f"part_{one.step}.pt"
    )
    (data / f"train_{one.saves:06}.bin").write_bytes(os.urandom(1 << 16))
    (data / f"state_{one.saves % 3}.bin").write_bytes(os.urandom(1 << 12))
    (cache / "graph.pt").write_bytes(b"not what torch.save writes" * one.saves)
    torch.save({"kernel": "triton_poi_fused", "time": math.nan}, cache / "best_config.pt")


MANNERS: dict[str, Callable[[Trainer], None]] = {
    "numbered": numbered,
    "safe": safe,
    "folder": folder,
    "sharded": sharded,
    "infinite": infinite,
    "in_place": in_place,
    "adapters": adapters,
    "halves": halves,
    "beside": beside,
}


def read_for_ever(path: Path) -> None:
    """A data loader that finds nothing in the page cache."""
    while True:
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 20):
                time.sleep(0.02)
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--manner", choices=MANNERS, default="numbered")
    parser.add_argument("--at", type=int, default=200)
    parser.add_argument("--pace", type=float, default=0.08)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save-every", type=int, default=60)
    parser.add_argument("--keep", type=int, default=0, help="saves to keep; 0 keeps all")
    parser.add_argument("--size", type=int, default=0, help="bytes more in each save")
    parser.add_argument("--read", type=Path, help="read this file over and over")
    parser.add_argument("--stamp", action="store_true", help="the first save is the trouble")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    args.out.mkdir(exist_ok=True)
    if args.read:
        threading.Thread(target=read_for_ever, args=(args.read,), daemon=True).start()
    one = Trainer(args.out, args.keep, args.size)
    while True:
        loss = one.train()
        print(f"step {one.step}/200000 loss {loss:.4f} lr 1e-3", flush=True)
        bad = one.step >= args.at
        if args.mode == "nan_loss" and one.step == args.at:
            injected()
            with torch.no_grad():
                one.model.hidden.weight[0, 0] = math.nan
        if one.step % args.save_every == 0:
            save(one, args, bad=bad)
        time.sleep(args.pace)


def save(one: Trainer, args: argparse.Namespace, *, bad: bool) -> None:
    """One save, as good as it is to be."""
    if args.stamp or (bad and args.mode not in ("none", "nan_loss")):
        injected()
    if bad and args.mode == "saves_stop":
        return
    if bad and args.mode == "nan_weights":
        with torch.no_grad():
            one.model.token.weight[-1] = math.nan
    one.without = set()
    if bad and args.mode == "no_optimizer":
        one.without = {"optimizer"}
    if bad and args.mode == "lost_shard":
        one.without, args.mode = {"shard"}, "none"
    one.saves += 1
    MANNERS[args.manner](one)


if __name__ == "__main__":
    main()
