import os, shutil, time
import torch, torch.nn as nn
from rich.console import Console
from rich.table import Table

torch.set_num_threads(1)
torch.manual_seed(6)
console = Console(width=100)
net = nn.Sequential(nn.Embedding(256, 64), nn.Flatten(), nn.Linear(64 * 16, 512), nn.GELU(), nn.Linear(512, 256))
opt = torch.optim.AdamW(net.parameters(), 6e-4)
melody = torch.randint(0, 256, (1024, 17))
kept = []
FAST, COLD = "fast", "cold"          # small ramdisk for saving quickly, disk for keeping
os.makedirs(COLD, exist_ok=True)
t0 = time.time()
for epoch in range(1, 11):
    losses = []
    for _ in range(24):
        seq = melody[torch.randint(0, 1024, (16,))]
        loss = nn.functional.cross_entropy(net(seq[:, :16]), seq[:, 16])
        opt.zero_grad(); loss.backward(); opt.step()
        losses.append(loss.item())
        time.sleep(0.2)
    if len(kept) == 2:
        os.remove(kept.pop(0))
    path = f"{FAST}/music-{epoch:03d}.pt"
    torch.save({"net": net.state_dict(), "opt": opt.state_dict()}, path)
    kept.append(path)
    shutil.copy(path, f"{COLD}/last.pt")
    free = shutil.disk_usage(FAST)
    table = Table(title=f"epoch {epoch}/10")
    for c in ("loss", "first", "last", "checkpoint", "ramdisk used", "min"):
        table.add_column(c, justify="right")
    table.add_row(f"{sum(losses) / 24:.4f}", f"{losses[0]:.4f}", f"{losses[-1]:.4f}", os.path.basename(path), f"{free.used / free.total:.0%}", f"{(time.time() - t0) / 60:.1f}")
    console.print(table)
console.print(f"[bold green]training complete[/] after {time.time() - t0:.0f}s, best kept in {COLD}/last.pt")
