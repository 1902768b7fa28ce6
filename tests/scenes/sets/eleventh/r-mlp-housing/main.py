import time

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset, random_split

EPOCHS = 40
torch.manual_seed(42)
x = torch.randn(1200, 8)
price = (x[:, :1] * 1.5 + (x[:, 1:2] * x[:, 2:3]) - x[:, 3:4].abs() + 0.1 * torch.randn(1200, 1))
train, val = random_split(TensorDataset(x, price), [1000, 200])
train_loader = DataLoader(train, batch_size=100, shuffle=True)
val_loader = DataLoader(val, batch_size=200)

model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=2e-3)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=15, gamma=0.5)


def run_epoch(loader, training):
    model.train(training)
    total = 0.0
    for xb, yb in loader:
        with torch.set_grad_enabled(training):
            loss = criterion(model(xb), yb)
        if training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.09)
        total += loss.item() * len(xb)
    return total / len(loader.dataset)


best = float("inf")
for epoch in range(EPOCHS):
    start = time.time()
    train_loss = run_epoch(train_loader, True)
    val_loss = run_epoch(val_loader, False)
    scheduler.step()
    mark = ""
    if val_loss < best:
        best = val_loss
        torch.save(model.state_dict(), "best_model.pth")
        mark = " *"
    print(f"Epoch [{epoch + 1}/{EPOCHS}] train loss: {train_loss:.4f} val loss: {val_loss:.4f} "
          f"time: {time.time() - start:.1f}s{mark}", flush=True)
print(f"Done. Best val loss: {best:.4f}")
