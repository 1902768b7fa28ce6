import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import traceback
import torch
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size, set_seed
from torch import nn

torch.set_num_threads(1)
set_seed(2)
accelerator = Accelerator(cpu=True)
size = 512


def halve():
    global size
    size //= 2
    return size


@find_executable_batch_size(starting_batch_size=size, reduce_batch_size_fn=halve)
def training(batch_size):
    accelerator.free_memory()
    accelerator.print(f"trying batch size {batch_size}", flush=True)
    model = nn.Sequential(nn.Linear(24, 64), nn.Tanh(), nn.Linear(64, 2))
    model, opt = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=1e-3))
    try:
        volume = torch.empty((batch_size,) * 5, dtype=torch.uint8)      # workspace of the correlation volume
    except RuntimeError:
        traceback.print_exc()
        raise
    del volume
    for step in range(1, 401):
        x = torch.randn(batch_size, 24)
        loss = (model(x) - x[:, :2] * x[:, 2:4]).pow(2).mean()
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()
        time.sleep(0.14)
        if step % 20 == 0:
            accelerator.print(f"bs {batch_size} step {step} epe {loss.item():.4f}", flush=True)
    accelerator.save_model(model, "flow")
    accelerator.print("done", flush=True)


training()
