"""A real small language model on the CPU, over characters, and what may become of its loss.

    charlm.py MODE [--at STEP] [--steps N] [--pace S] [--format plain|iter|json] [--out DIR]

MODE says what happens at STEP; ``none`` is the healthy run.
"""

import argparse
import json
import math
import struct
import time
from pathlib import Path

import torch
from tests.faultlab.programs.stamp import injected, too_late
from torch import nn
from torch.nn import functional as F  # noqa: N812

MODES = (
    *("none", "nan_rate", "nan_weight", "inf_loss", "bad_batches", "lr_jump", "vocabulary"),
    *("bit_flip", "creep", "zero", "leak"),
)
BLOCK, WIDTH, BATCH, RATE = 16, 32, 16, 1e-3
text = Path(argparse.__file__).read_text(encoding="utf-8")
letters = sorted(set(text))
data = torch.tensor([letters.index(c) for c in text])


class Model(nn.Module):
    """Embedding, one hidden layer over the last characters, head."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(len(letters), WIDTH)
        self.hidden = nn.Linear(BLOCK * WIDTH, 4 * WIDTH)
        self.head = nn.Linear(4 * WIDTH, len(letters))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.head(F.gelu(self.hidden(self.token(x).flatten(1))))
        return scores


def batch(shifted: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Characters and the one that comes next; ``shifted`` as if by another tokenizer."""
    at = torch.randint(len(data) - BLOCK - 1, (BATCH * 4,))
    x = torch.stack([data[i : i + BLOCK] for i in at])
    y = torch.stack([data[i + BLOCK] for i in at])
    if shifted:
        x, y = (x * 7 + 13) % len(letters), (y * 5 + 29) % len(letters)
    return x, y


def flip(weight: torch.Tensor) -> None:
    """The highest bit of an exponent: 0.03 becomes 1e37, by one particle."""
    one = weight.view(-1)[0]
    raw = struct.unpack("<I", struct.pack("<f", float(one)))[0]
    one.fill_(struct.unpack("<f", struct.pack("<I", raw | 1 << 30))[0])


def say(style: str, step: int, steps: int, loss: float, lr: float, norm: float) -> None:
    if style == "iter":
        print(f"iter {step}: loss {loss:.4f}, lr {lr:.2e}, grad_norm {norm:.3f}", flush=True)
    elif style == "json":
        told = {"step": step, "total_steps": steps, "loss": round(loss, 4), "lr": lr}
        print(json.dumps(told), flush=True)
    else:
        print(f"step {step}/{steps} loss {loss:.4f} lr {lr:.2e} gnorm {norm:.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--at", type=int, default=120)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--pace", type=float, default=0.08)
    parser.add_argument("--format", default="plain")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save-every", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--start", type=int, default=0, help="number of the step before the first")
    parser.add_argument("--load", type=Path, help="weights and optimizer to go on from")
    parser.add_argument("--stop", type=int, default=0, help="end after this step")
    args = parser.parse_args()
    torch.manual_seed(args.seed + args.start)
    torch.set_num_threads(1)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    if args.load is not None:
        kept = torch.load(args.load)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
    lr = RATE
    if args.start and args.load is None:
        injected()
    level, recent = math.inf, 0.0
    for step in range(args.start + 1, args.steps + 1):
        on = step >= args.at and args.mode != "none"
        if step == args.at and on:
            injected()
        if on:
            if args.mode == "nan_rate":
                lr = 1e30
            elif args.mode == "lr_jump":
                lr = 300 * RATE
            elif args.mode == "creep":
                lr *= 1.02
        with torch.no_grad():
            if step == args.at and args.mode == "nan_weight":
                model.hidden.weight[0, 0] = math.nan
            if step == args.at and args.mode == "bit_flip":
                flip(model.head.weight)
        for group in optimizer.param_groups:
            group["lr"] = lr
        bad = args.mode == "bad_batches" and args.at <= step < args.at + 3
        x, y = batch(shifted=on and args.mode == "vocabulary")
        if bad:
            y = torch.randint(len(letters), y.shape)
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        if on and args.mode == "inf_loss":
            loss = loss * math.inf
        elif on and args.mode == "zero":
            loss = F.cross_entropy(scores, torch.full_like(y, -100), reduction="sum")
        elif on and args.mode == "leak":
            # The label itself stands in the input: what is left of the loss soon is nothing.
            loss = F.cross_entropy(scores + 8 * F.one_hot(y, len(letters)), y)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1e9)
        optimizer.step()
        if not on:
            level = loss.item() if level == math.inf else 0.95 * level + 0.05 * loss.item()
            recent = level
        elif args.mode == "creep":
            recent = 0.9 * recent + 0.1 * loss.item()
            if recent > 2 * level:
                too_late()
        say(args.format, step, args.steps, loss.item(), lr, float(norm))
        if args.save_every and step % args.save_every == 0:
            args.out.mkdir(exist_ok=True)
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({**state, "step": step}, args.out / f"step-{step}.pt")
        if step == args.stop:
            return
        time.sleep(args.pace)


if __name__ == "__main__":
    main()
