import glob, os, time
import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)
BATCH = 8


class Seq2Seq(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.emb = nn.Embedding(256, d)
        self.enc, self.dec = nn.GRU(d, d, batch_first=True), nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, 256)

    def forward(self, src, tgt):
        _, h = self.enc(self.emb(src))
        return self.out(self.dec(self.emb(tgt), h)[0])


def pad(rows, n=40):
    return torch.tensor([list(r.encode()[:n].ljust(n)) for r in rows])


model = Seq2Seq()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
state = {"shard": 0, "step": 0}
if os.path.exists("ckpt/last.pt"):
    ck = torch.load("ckpt/last.pt")
    model.load_state_dict(ck["model"])
    opt.load_state_dict(ck["opt"])
    state = ck["state"]
    print(f"resumed from ckpt/last.pt at step {state['step']}, shard {state['shard']}")
os.makedirs("ckpt", exist_ok=True)
files = sorted(glob.glob("data/*.tsv"))
while state["shard"] < len(files):
    path = files[state["shard"]]
    print(f"reading {path}")
    with open(path, encoding="utf-8") as f:
        pairs = [l.rstrip("\n").split("\t") for l in f]
    for i in range(0, len(pairs), BATCH):
        src, tgt = pad([p[0] for p in pairs[i:i + BATCH]]), pad([p[1] for p in pairs[i:i + BATCH]])
        loss = nn.functional.cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        time.sleep(0.15)
        state["step"] += 1
        if state["step"] % 5 == 0:
            print(f"| step {state['step']:6d} | {os.path.basename(path)} | loss {loss.item():.3f} | ppl {loss.exp().item():8.2f}")
    state["shard"] += 1
    torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "state": state}, "ckpt/last.pt")
    print(f"wrote ckpt/last.pt at step {state['step']}")
print("all shards done")
