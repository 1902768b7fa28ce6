import time, requests, torch
from torch import nn
torch.set_num_threads(1); torch.manual_seed(0)
url = f"http://127.0.0.1:{open('store.port').read()}/features"
http = requests.Session()
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1)); opt = torch.optim.AdamW(net.parameters(), 3e-3)
print("feature store:", url, flush=True)
for epoch in range(1, 61):
    tot = hit = n = 0
    for b in range(25):
        d = http.get(url, params={"epoch": epoch, "batch": b}).json()
        x, y = torch.tensor(d["x"]), torch.tensor(d["y"]).float()
        o = net(x).squeeze(1); loss = nn.functional.binary_cross_entropy_with_logits(o, y)
        opt.zero_grad(); loss.backward(); opt.step()
        tot += loss.item() * len(y); hit += ((o > 0) == (y > 0)).sum().item(); n += len(y)
        time.sleep(.05)
    print(f"epoch {epoch:3d}/60 | train loss {tot / n:.4f} | acc {hit / n:.3f}", flush=True)
torch.save(net.state_dict(), "ranker.pt"); print("saved ranker.pt")
