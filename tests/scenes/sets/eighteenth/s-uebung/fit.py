import json
import pathlib
import time

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

VOL = pathlib.Path("vol/exp7")
SAVE_EVERY = 60


def emit(**kw):
    print(json.dumps({"ts": round(time.time(), 2), **kw}))


def main():
    acc = Accelerator(cpu=True)
    torch.manual_seed(2)
    torch.set_num_threads(1)
    x = torch.randn(4096, 40)
    y = (x[:, :10].sum(1) + x[:, 10] * x[:, 11] > 0).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 2))
    opt = torch.optim.AdamW(model.parameters(), lr=5e-4)
    model, opt, loader = acc.prepare(model, opt, loader)
    emit(event="start", device=str(acc.device), batches=len(loader))
    step = 0
    for epoch in range(8):
        for xb, yb in loader:
            loss = nn.functional.cross_entropy(model(xb), yb)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            step += 1
            time.sleep(0.14)
            if step % 10 == 0:
                emit(event="train", step=step, epoch=epoch, loss=round(loss.item(), 5), lr=opt.param_groups[0]["lr"])
            if step % SAVE_EVERY == 0:
                try:
                    acc.save_state(str(VOL / f"step_{step:06d}"))
                    emit(event="checkpoint", step=step, path=str(VOL / f"step_{step:06d}"))
                except Exception as e:
                    emit(event="checkpoint_failed", step=step, error=f"{type(e).__name__}: {e}")
    emit(event="end", step=step)


if __name__ == "__main__":
    main()
