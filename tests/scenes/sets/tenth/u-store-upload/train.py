import io
import os
import sys
import time
import urllib.error
import urllib.request

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STORE = f"http://127.0.0.1:{open(os.environ['STORE_PORT_FILE']).read()}"


def upload(name, blob, tries=8):
    wait = 0.5
    for k in range(1, tries + 1):
        try:
            req = urllib.request.Request(f"{STORE}/{name}", data=blob, method="PUT")
            with urllib.request.urlopen(req, timeout=10) as r:
                print(f"uploaded {name} ({len(blob) / 1024:.0f} KiB) status={r.status} attempt={k}")
            return
        except (urllib.error.URLError, ConnectionError) as e:
            print(f"WARNING upload of {name} failed (attempt {k}/{tries}): {e}; retrying in {wait:.1f} s", file=sys.stderr)
            time.sleep(wait)
            wait = min(wait * 2, 8)
    raise RuntimeError(f"could not upload {name}")


def blob(acc, model):
    b = io.BytesIO()
    torch.save(acc.unwrap_model(model).state_dict(), b)
    return b.getvalue()


acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
torch.manual_seed(6)
x = torch.randn(1800, 30)
y = (x[:, :3].prod(1) + x[:, 3] > 0).long()
model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
loader = DataLoader(TensorDataset(x, y), 30, shuffle=True)
model, opt, loader = acc.prepare(model, opt, loader)
for epoch in range(8):
    tot = ok = 0.0
    for xb, yb in loader:
        with acc.accumulate(model):
            z = model(xb)
            loss = nn.functional.cross_entropy(z, yb)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
        tot += loss.item()
        ok += (z.argmax(1) == yb).float().mean().item()
        time.sleep(0.07)
    acc.print(f"epoch {epoch + 1}/8: loss {tot / len(loader):.4f}  acc {ok / len(loader):.4f}  lr {opt.param_groups[0]['lr']:.1e}")
    upload(f"clf-epoch{epoch + 1}.pt", blob(acc, model))
acc.print("all epochs done")
