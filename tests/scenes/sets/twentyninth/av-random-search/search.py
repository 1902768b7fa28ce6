"""Random search with a median pruner for a tabular net."""
import math
import os
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

PAUSE = float(os.environ.get("PAUSE", "0.5"))
torch.set_num_threads(1)
torch.manual_seed(1)
random.seed(6)
X = torch.randn(1500, 10)
Y = (X[:, 0] * X[:, 1] + torch.sin(2 * X[:, 2]) + 0.5 * X[:, 3] ** 2 + 0.2 * torch.randn(1500)).unsqueeze(1)
tx, ty, vx, vy = X[:1200], Y[:1200], X[1200:], Y[1200:]
TRIALS, EPOCHS = 26, 15
history, best = [], (math.inf, -1)


def note(text, level="I"):
    now = time.time()
    print(f"[{level} {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(now))},{int(now * 1000) % 1000:03d}] {text}", flush=True)


note("A new study created in memory with name: house-net")
for trial in range(TRIALS):
    p = {
        "lr": 10 ** random.uniform(-4, 1.0 if trial % 9 == 5 else -1.3),
        "width": random.choice([16, 32, 64, 128]),
        "optimizer": "sgd" if trial % 9 == 5 else random.choice(["adam", "adamw"]),
        "dropout": round(random.uniform(0, 0.4), 3),
    }
    if trial % 9 == 5:
        p["lr"] = 1.0 + 3 * random.random()
    net = nn.Sequential(nn.Linear(10, p["width"]), nn.ReLU(), nn.Dropout(p["dropout"]), nn.Linear(p["width"], p["width"]), nn.ReLU(), nn.Linear(p["width"], 1))
    opt = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[p["optimizer"]](net.parameters(), lr=p["lr"])
    curve, state = [], "complete"
    for epoch in range(EPOCHS):
        net.train()
        for b in torch.randperm(1200).split(60):
            loss = F.mse_loss(net(tx[b]), ty[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            value = F.mse_loss(net(vx), vy).item()
        time.sleep(PAUSE)
        curve.append(value)
        print(f"    trial {trial:2d} epoch {epoch + 1:2d}/{EPOCHS}  train_mse {loss.item():.4f}  val_mse {value:.4f}", flush=True)
        if math.isnan(value):
            state = "nan"
            break
        others = sorted(c[epoch] for c in history if len(c) > epoch)
        if epoch >= 4 and len(others) >= 4 and value > others[len(others) // 2]:
            state = "pruned"
            break
    if state == "nan":
        note(f"Trial {trial} failed with parameters: {p} because of the following error: The value nan is not acceptable.", "W")
        note(f"Trial {trial} failed with value nan.", "W")
        continue
    history.append(curve)
    if state == "pruned":
        note(f"Trial {trial} pruned. ")
        continue
    if curve[-1] < best[0]:
        best = (curve[-1], trial)
        torch.save({"params": p, "net": net.state_dict()}, "best_trial.pt")
    note(f"Trial {trial} finished with value: {curve[-1]} and parameters: {p}. Best is trial {best[1]} with value: {best[0]}.")
print(f"Best trial {best[1]}: {best[0]:.4f}", flush=True)
