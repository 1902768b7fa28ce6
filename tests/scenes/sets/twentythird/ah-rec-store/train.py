"""Two tower recommender, batches from the feature store."""
import json
import time
import urllib.request

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
url = f"http://127.0.0.1:{open('store.port').read()}/batch"
ue, ve = nn.Embedding(300, 8), nn.Embedding(200, 8)
nn.init.normal_(ue.weight, std=0.3)
nn.init.normal_(ve.weight, std=0.3)
opt = torch.optim.Adam([*ue.parameters(), *ve.parameters()], lr=0.04)
STEPS = 1200
hits = avg = None
t = time.time()
for step in range(1, STEPS + 1):
    b = json.load(urllib.request.urlopen(url, timeout=60))
    u, v, y = (torch.tensor(b[k]) for k in "uvy")
    s = (ue(u) * ve(v)).sum(1)
    loss = nn.functional.binary_cross_entropy_with_logits(s, y.float())
    opt.zero_grad()
    loss.backward()
    opt.step()
    h = ((s > 0) == (y > 0)).float().mean().item()
    hits = h if hits is None else 0.95 * hits + 0.05 * h
    avg = loss.item() if avg is None else 0.95 * avg + 0.05 * loss.item()
    time.sleep(0.2)
    if step % 2 == 0:
        now = time.time()
        print(f"step {step}/{STEPS} loss {avg:.4f} hit {hits:.3f} {2 * 128 / (now - t):.0f} pairs/s "
              f"({(now - t) / 2:.2f} s/step)", flush=True)
        t = now
    if step % 100 == 0:
        torch.save({"u": ue.state_dict(), "v": ve.state_dict()}, f"towers_{step}.pt")
        print(f"saved towers_{step}.pt", flush=True)
print("done", flush=True)
