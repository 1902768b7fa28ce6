import math

import torch
from safetensors.torch import load_model
from torch.utils.data import DataLoader

from tied_model import Dialogs, build_model

model = build_model()
load_model(model, "export/model.safetensors")
model.eval()
total, n = 0.0, 0
loader = DataLoader(Dialogs(800, seed=99, delay=0.05), batch_size=8)
with torch.no_grad():
    for i, b in enumerate(loader):
        total += model(**b).loss.item()
        n += 1
        if (i + 1) % 10 == 0:
            print(f"eval {i + 1}/{len(loader)} loss {total / n:.3f}", flush=True)
print(f"test loss {total / n:.3f} perplexity {math.exp(min(20, total / n)):.1f}", flush=True)
