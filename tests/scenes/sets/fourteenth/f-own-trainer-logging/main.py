import logging

import torch
from torch import nn

from trainer import SimpleTrainer

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("main")
torch.manual_seed(1)

# regression of house prices, features are already scaled
X = torch.randn(1280, 40)
w = torch.randn(40, 1)
Y = X @ w / 6 + 0.05 * torch.randn(1280, 1)
batches = list(zip(X.split(32), Y.split(32)))

model = nn.Sequential(nn.Linear(40, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))
log.info("model has %d parameters", sum(p.numel() for p in model.parameters()))
opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
t = SimpleTrainer(model, opt, nn.functional.mse_loss)
t.fit(batches, epochs=9)
log.info("training complete after %d steps", t.step)
