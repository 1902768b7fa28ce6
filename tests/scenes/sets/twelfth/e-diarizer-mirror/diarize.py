import os, time
import torch, torch.nn as nn
from tqdm import tqdm

torch.set_num_threads(1)
torch.manual_seed(2)
net = nn.Sequential(nn.Linear(40, 512), nn.ReLU(), nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 4))
opt = torch.optim.Adam(net.parameters(), 1e-3)
os.makedirs("ckpt", exist_ok=True)
bar = tqdm(range(1, 401), desc="EEND", mininterval=1.0, ncols=90)
w = torch.randn(40, 4)
for step in bar:
    x = torch.randn(16, 40)
    loss = nn.functional.binary_cross_entropy_with_logits(net(x), (x @ w > 0).float())
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.15)
    bar.set_postfix(loss=f"{loss.item():.3f}")
    if step % 50 == 0:
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, "ckpt/tmp")
        os.rename("ckpt/tmp", f"ckpt/eend-{step:06d}.pt")
