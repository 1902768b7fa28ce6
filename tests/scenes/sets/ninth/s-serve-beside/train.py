import argparse
import os
import time

import numpy as np
import requests
import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--epochs", type=int)
a = p.parse_args()
torch.manual_seed(0)
lin = nn.Linear(30, 5)
opt = torch.optim.Adam(lin.parameters(), lr=1e-2)
true = torch.randn(30, 5)


def ask(x):
    for n in range(40):
        try:
            url = f"http://127.0.0.1:{open('serve.port').read()}/predict"
            return requests.post(url, json=x.tolist(), timeout=5).json()
        except (OSError, requests.RequestException) as error:
            if n % 5 == 4:
                print(f"  server is loading ({type(error).__name__}), waiting")
            time.sleep(1)
    return None


for epoch in range(1, a.epochs + 1):
    total = 0.0
    for _ in range(20):
        x = torch.randn(40, 30)
        loss = nn.functional.cross_entropy(lin(x), (x @ true).argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        time.sleep(0.3)
    print(f"epoch {epoch}/{a.epochs} loss {total / 20:.4f}")
    x = torch.randn(50, 30)
    if (got := ask(x)) is not None:
        ok = np.mean(np.array(got["y"]) == (x @ true).argmax(1).numpy())
        print(f"  served {got['model']}: agreement {ok:.2f}")
    np.savez("next.npz", w=lin.weight.detach().numpy(), b=lin.bias.detach().numpy())
    os.rename("next.npz", f"models/e{epoch:03d}.npz")
print("training done")
