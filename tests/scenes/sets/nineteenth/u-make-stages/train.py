import json, sys, time
import torch
from torch import nn
torch.set_num_threads(1); torch.manual_seed(0)
cs = json.load(open("out/vocab.json")); ix = {c: i for i, c in enumerate(cs)}
d = torch.tensor([ix[c] for c in open("out/corpus.txt").read()])
class M(nn.Module):
    def __init__(s):
        super().__init__(); s.e = nn.Embedding(len(cs), 24); s.g = nn.GRU(24, 48, batch_first=True); s.o = nn.Linear(48, len(cs))
    def forward(s, x): return s.o(s.g(s.e(x))[0])
m = M()
def batch(lo, hi):
    i = torch.randint(lo, hi - 33, (16,)); x = torch.stack([d[j:j + 33] for j in i]); return x[:, :-1], x[:, 1:]
n = int(len(d) * .9); ce = nn.CrossEntropyLoss()
if "--eval" in sys.argv:
    m.load_state_dict(torch.load("out/model.pt")); t = 0
    with torch.no_grad():
        for k in range(20):
            x, y = batch(n, len(d)); t += ce(m(x).flatten(0, 1), y.flatten()).item() / 20; time.sleep(.15)
    json.dump({"nll": t}, open("out/eval.json", "w")); print(f"held-out nll {t:.4f}")
else:
    o = torch.optim.Adam(m.parameters(), 3e-3)
    for s in range(1, 201):
        x, y = batch(0, n); l = ce(m(x).flatten(0, 1), y.flatten()); o.zero_grad(); l.backward(); o.step(); time.sleep(.08)
        if s % 10 == 0: print(f"it {s:4d}/200 | nll {l.item():.4f}")
    torch.save(m.state_dict(), "out/model.pt"); print("saved out/model.pt")
