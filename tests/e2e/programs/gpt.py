"""A real small GPT: two layers of causal attention, AdamW, characters of its own source.

gpt.py --max_iters N --out_dir DIR [--eval_interval N]
"""

import argparse
import math
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

parser = argparse.ArgumentParser()
parser.add_argument("--max_iters", type=int, default=60)
parser.add_argument("--eval_interval", type=int, default=20)
parser.add_argument("--out_dir", type=Path, required=True)
args = parser.parse_args()

torch.manual_seed(1)
torch.set_num_threads(1)
BLOCK, WIDTH, HEADS = 32, 48, 4
text = Path(__file__).read_text(encoding="utf-8") * 4
letters = sorted(set(text))
data = torch.tensor([letters.index(c) for c in text])


class Layer(nn.Module):
    """Attention and a feed-forward part, each behind a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        parts = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, c // HEADS).permute(2, 0, 3, 1, 4)
        q, k, v = parts
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        forward: torch.Tensor = self.mlp(self.norm2(x))
        return x + forward


class Gpt(nn.Module):
    """Embeddings, two layers, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(len(letters), WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.layers = nn.Sequential(Layer(), Layer())
        self.head = nn.Linear(WIDTH, len(letters))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inside = self.token(x) + self.place(torch.arange(x.shape[1]))
        scores: torch.Tensor = self.head(self.layers(inside))
        return scores


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    at = torch.randint(len(data) - BLOCK - 1, (8,))
    return (
        torch.stack([data[i : i + BLOCK] for i in at]),
        torch.stack([data[i + 1 : i + BLOCK + 1] for i in at]),
    )


def loss_of(model: Gpt) -> torch.Tensor:
    x, y = batch()
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


args.out_dir.mkdir(parents=True, exist_ok=True)
model = Gpt()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
print(f"number of parameters: {sum(p.numel() for p in model.parameters()) / 1e6:.2f}M")
for step in range(args.max_iters + 1):
    if step % args.eval_interval == 0:
        with torch.no_grad():
            val = sum(loss_of(model).item() for _ in range(4)) / 4
        print(f"step {step}: train loss {val:.4f}, val loss {val:.4f}")
        if step:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "iter": step}
            torch.save(state, args.out_dir / f"ckpt-{step}.pt")
    lr = 3e-3 * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * step / args.max_iters)))
    for group in optimizer.param_groups:
        group["lr"] = lr
    loss = loss_of(model)
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(f"iter {step}: loss {loss.item():.4f}, lr {lr:.2e}, grad_norm {norm:.3f}")
