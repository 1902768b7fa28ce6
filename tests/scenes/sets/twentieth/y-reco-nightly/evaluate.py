import sys
import time

import numpy as np
import torch

from interactions import ratings

m = np.load(sys.argv[1])
u, v = torch.from_numpy(m["u"]), torch.from_numpy(m["v"])
g = torch.Generator().manual_seed(77)
errors = []
for part in range(8):
    a, b, r = ratings(1000, g)
    errors.append((((u[a] * v[b]).sum(1) - r) ** 2).mean().item())
    time.sleep(0.5)
print(f"evaluate: rmse {np.sqrt(np.mean(errors)):.4f} over 8000 ratings, gate 1.5: {'pass' if np.mean(errors) < 2.25 else 'FAIL'}")
sys.exit(1 if np.mean(errors) >= 2.25 else 0)
