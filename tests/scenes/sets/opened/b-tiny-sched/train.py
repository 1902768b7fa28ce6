import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

acc = Accelerator(cpu=True)
set_seed(3)
x = torch.randn(1600, 12)
y = (x[:, :1] * x[:, 1:2]).tanh()
net = torch.nn.Sequential(torch.nn.Linear(12, 64), torch.nn.SiLU(), torch.nn.Linear(64, 1))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
net, opt, loader = acc.prepare(net, opt, DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True))
step = 0
for epoch in range(2):
    for xb, yb in loader:
        loss = torch.nn.functional.mse_loss(net(xb), yb)
        acc.backward(loss)
        opt.step()
        opt.zero_grad()
        step += 1
        time.sleep(0.28)
        if step % 10 == 0:
            acc.print(f"epoch {epoch} | step {step}/200 | loss {loss.item():.5f}")
    acc.save_state(f"state/epoch_{epoch}")
acc.print("finished 200 steps")
