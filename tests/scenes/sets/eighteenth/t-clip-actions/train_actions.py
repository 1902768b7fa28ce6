import time

import numpy as np
import torch
from rich.console import Console
from torch import nn

from clips import ClipStore

console = Console(width=100, force_terminal=False)
torch.manual_seed(0)
torch.set_num_threads(1)
store = ClipStore(4000)
net = nn.Sequential(nn.Conv3d(3, 8, (3, 5, 5), (2, 4, 4)), nn.ReLU(), nn.Conv3d(8, 16, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(16, 5))
opt = torch.optim.Adam(net.parameters(), 2e-3)
rng = np.random.default_rng(0)
console.print(f"[bold]action recognition[/bold], {store.n} clips, {sum(p.numel() for p in net.parameters())} weights")
step = 0
for epoch in range(5):
    for chunk in np.array_split(rng.permutation(store.n), store.n // 2):
        xs, ys = zip(*(store[int(i)] for i in chunk))
        loss = nn.functional.cross_entropy(net(torch.from_numpy(np.stack(xs)).transpose(1, 2)), torch.tensor(ys))
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        time.sleep(0.3)
        if step % 5 == 0:
            console.print(f"epoch {epoch} step {step:>5} loss {loss.item():.4f} clips in cache {len(store.cache)}")
    torch.save(net.state_dict(), f"actions_{epoch}.pt")
