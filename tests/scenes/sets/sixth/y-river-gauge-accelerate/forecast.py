"""River level forecast (GRU) with Accelerate. Made for spot machines: saves often, goes on by itself."""
import os
import time
from pathlib import Path

import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration, set_seed
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
TOTAL, SAVE_EVERY = 2000, 20


class Progress:
    """What save_state keeps besides the model."""

    def __init__(self):
        self.step = 0

    def state_dict(self):
        return {"step": self.step}

    def load_state_dict(self, state):
        self.step = state["step"]


class Gauge(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 32, batch_first=True)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1]).squeeze(-1)


def rivers(n=4096):
    g = torch.Generator().manual_seed(4)
    x = torch.randn(n, 24, 4, generator=g).cumsum(1) / 5
    y = x[:, -6:, 0].mean(1) + 0.3 * torch.tanh(x[:, -1, 1]) + 0.05 * torch.randn(n, generator=g)
    return TensorDataset(x, y)


def main():
    Path("train.pid").write_text(str(os.getpid()))
    set_seed(8)
    accelerator = Accelerator(
        cpu=True,
        project_config=ProjectConfiguration(project_dir="runs/gauge", automatic_checkpoint_naming=True, total_limit=3),
    )
    model = Gauge()
    opt = torch.optim.Adam(model.parameters(), lr=3e-4)
    loader = DataLoader(rivers(), batch_size=64, shuffle=True)
    model, opt, loader = accelerator.prepare(model, opt, loader)
    progress = Progress()
    accelerator.register_for_checkpointing(progress)
    folder = Path("runs/gauge/checkpoints")
    if folder.is_dir() and any(folder.iterdir()):
        accelerator.load_state()
        accelerator.print(f"resumed at step {progress.step} (kept: {', '.join(sorted(p.name for p in folder.iterdir()))})")
    else:
        accelerator.print("no checkpoint yet, starting from the beginning")

    mean = None
    while progress.step < TOTAL:
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
            time.sleep(0.22)
            progress.step += 1
            mean = loss.item() if mean is None else 0.9 * mean + 0.1 * loss.item()
            if progress.step % 10 == 0:
                accelerator.print(f"[{time.strftime('%H:%M:%S')}] {progress.step}/{TOTAL} mse={mean:.4f}")
            if progress.step % SAVE_EVERY == 0:
                accelerator.save_state()
                accelerator.print("state saved")
            if progress.step >= TOTAL:
                break
    accelerator.print("done")


if __name__ == "__main__":
    main()
