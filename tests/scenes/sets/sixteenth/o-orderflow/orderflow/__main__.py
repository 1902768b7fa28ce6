import csv
import math
import time

import torch
from ignite.engine import Engine, Events
from torch import nn

from .book import snapshots

torch.manual_seed(2)
torch.set_num_threads(1)
g = torch.Generator().manual_seed(77)
net = nn.Sequential(nn.Flatten(), nn.Linear(200, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
PEAK, RAMP, TOTAL = 1e-3, 150, 600


def rate(step):
    """Cosine with warm restarts."""
    cycle, inside = divmod(step, RAMP)
    return PEAK * 40.0 ** cycle * 0.5 * (1 + math.cos(math.pi * inside / RAMP))


def update(engine, _):
    x, y = snapshots(32, g)
    for group in opt.param_groups:
        group["lr"] = rate(engine.state.iteration - 1)
    loss = nn.functional.mse_loss(net(x).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.12)
    return loss.item()


trainer = Engine(update)
started = time.time()
table = open("history.csv", "w", newline="")
rows = csv.writer(table)
rows.writerow(["iteration", "seconds", "lr", "mse"])


@trainer.on(Events.ITERATION_COMPLETED(every=5))
def report(engine):
    it, loss = engine.state.iteration, engine.state.output
    rows.writerow([it, f"{time.time() - started:.1f}", f"{opt.param_groups[0]['lr']:.3g}", f"{loss:.6g}"])
    table.flush()
    print(f"iteration: {it:5d}/{TOTAL}   lr: {opt.param_groups[0]['lr']:.2e}   loss: {loss:.5g}", flush=True)


@trainer.on(Events.ITERATION_COMPLETED(every=300))
def keep(engine):
    torch.save(net.state_dict(), f"book_{engine.state.iteration}.pt")


trainer.run([None] * TOTAL, max_epochs=1)
print("run complete", flush=True)
