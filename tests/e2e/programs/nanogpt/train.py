"""A language model of characters, trained in the manner of nanoGPT.

Settings are globals that ``--key=value`` overrides (configurator.py). ``ckpt.pt`` in ``out_dir``
is replaced whenever the validation loss was never lower; ``--init_from=resume`` goes on from it.
"""

import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

out_dir = "out"
eval_interval = 20
log_interval = 1
eval_iters = 20
always_save_checkpoint = True
init_from = "scratch"
learning_rate = 3e-3
max_iters = 200
pause = 0.02
"""Seconds that a step takes longer than it has to."""
configured = ("out_dir", "eval_interval", "init_from", "learning_rate", "max_iters", "pause")
exec(open("configurator.py").read())  # noqa: S102, SIM115  (as nanoGPT does)
config = {name: globals()[name] for name in configured}

torch.manual_seed(1337)
torch.set_num_threads(1)
BLOCK, WIDTH = 8, 32
text = Path(__file__).read_text(encoding="utf-8")
letters = sorted(set(text))
data = torch.tensor([letters.index(c) for c in text])


class Model(nn.Module):
    """The eight letters before are looked up, and a hidden layer tells the next one."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(len(letters), WIDTH)
        self.hidden = nn.Linear(BLOCK * WIDTH, 4 * WIDTH)
        self.head = nn.Linear(4 * WIDTH, len(letters))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.head(torch.tanh(self.hidden(self.token(x).flatten(1))))
        return scores


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    at = torch.randint(len(data) - BLOCK, (16,))
    return torch.stack([data[i : i + BLOCK] for i in at]), data[at + BLOCK]


def loss_of(model: Model) -> torch.Tensor:
    x, y = batch()
    return F.cross_entropy(model(x), y)


@torch.no_grad()
def estimate(model: Model) -> float:
    return sum(loss_of(model).item() for _ in range(eval_iters)) / eval_iters


folder = Path(out_dir)
folder.mkdir(parents=True, exist_ok=True)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
iter_num, best_val_loss = 0, 1e9
if init_from == "resume":
    print(f"Resuming training from {out_dir}")
    checkpoint = torch.load(folder / "ckpt.pt", map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    iter_num = checkpoint["iter_num"]
    best_val_loss = checkpoint["best_val_loss"]
else:
    print("Initializing a new model from scratch")
print(f"number of parameters: {sum(p.numel() for p in model.parameters()) / 1e6:.2f}M")

while True:
    if iter_num % eval_interval == 0:
        train, val = estimate(model), estimate(model)
        print(f"step {iter_num}: train loss {train:.4f}, val loss {val:.4f}")
        if val < best_val_loss or always_save_checkpoint:
            best_val_loss = min(val, best_val_loss)
            if iter_num > 0:
                state = {
                    "model": model.state_dict(),
                    "optimizer": optimizer.state_dict(),
                    "model_args": {"block_size": BLOCK, "vocab_size": len(letters)},
                    "iter_num": iter_num,
                    "best_val_loss": best_val_loss,
                    "config": config,
                }
                print(f"saving checkpoint to {out_dir}")
                torch.save(state, folder / "ckpt.pt")
    began = time.time()
    loss = loss_of(model)
    optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    time.sleep(pause)
    if iter_num % log_interval == 0:
        took = (time.time() - began) * 1000
        print(f"iter {iter_num}: loss {loss.item():.4f}, time {took:.2f}ms, mfu -100.00%")
    iter_num += 1
    if iter_num > max_iters:
        break
