"""Character LM, own loop. State goes to ckpt.pt on the network volume every 70 iterations."""
import io
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(5)
V, T, B, MAX = 120, 40, 8, 2000
table = torch.randint(0, V, (V, 3), generator=torch.Generator().manual_seed(4))
net = nn.ModuleDict({"emb": nn.Embedding(V, 96), "rnn": nn.GRU(96, 288, batch_first=True), "out": nn.Linear(288, V)})
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
start = 0
open("pid", "w").write(str(os.getpid()))
if os.path.exists("ckpt.pt"):
    print("resuming from ckpt.pt", flush=True)
    state = torch.load("ckpt.pt", map_location="cpu")
    net.load_state_dict(state["net"])
    opt.load_state_dict(state["opt"])
    start = state["iter"]


def save(it):
    print(f"iter {it}: writing ckpt.pt", flush=True)
    buf = io.BytesIO()
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "iter": it}, buf)
    raw, part = buf.getvalue(), 128 * 1024
    with open("ckpt.pt", "wb") as f:
        for i in range(0, len(raw), part):
            f.write(raw[i:i + part])
            f.flush()
            time.sleep(0.06)  # what the volume takes: 2 MB/s
    print(f"iter {it}: ckpt.pt written ({len(raw) / 1e6:.1f} MB)", flush=True)


for it in range(start + 1, MAX + 1):
    x = torch.empty(B, T, dtype=torch.long)
    x[:, 0] = torch.randint(0, V, (B,))
    for t in range(1, T):
        x[:, t] = table[x[:, t - 1], torch.randint(0, 3, (B,))]
    loss = F.cross_entropy(net["out"](net["rnn"](net["emb"](x[:, :-1]))[0]).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.3)
    if it % 2 == 0:
        print(f"iter {it}: loss {loss.item():.4f}", flush=True)
    if it % 70 == 0:
        save(it)
