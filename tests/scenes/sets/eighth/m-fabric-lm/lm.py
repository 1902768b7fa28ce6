"""Char LM with Lightning Fabric, JSON lines. After a loss spike: back to the last good state, other data order (as the PaLM people did)."""
import json, os, time
import torch
import torch.nn as nn
from lightning.fabric import Fabric, seed_everything

seed_everything(17, verbose=False)
torch.set_num_threads(1)
fab = Fabric(accelerator="cpu", devices=1)
TEXT = torch.tensor([ord(c) - 96 if c != " " else 0 for c in
                     "the old man and the sea went down to the harbour and the gulls cried over the quiet water " * 40])


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.r, self.o = nn.Embedding(27, 24), nn.GRU(24, 64, batch_first=True), nn.Linear(64, 27)

    def forward(self, x):
        return self.o(self.r(self.e(x))[0])


net = LM()
opt = torch.optim.SGD(net.parameters(), lr=0.6, momentum=0.9)
net, opt = fab.setup(net, opt)
os.makedirs("ckpt", exist_ok=True)


def batch(i):
    g = torch.Generator().manual_seed(i)
    p = torch.randint(0, len(TEXT) - 33, (16,), generator=g)
    b = torch.stack([TEXT[k:k + 33] for k in p])
    if 205 <= i < 211:                      # a scanned appendix in the corpus: noise
        b = torch.randint(0, 27, (16, 33), generator=g)
    return b


def say(**kw):
    print(json.dumps({"ts": round(time.time(), 1), **kw}), flush=True)


step, data, avg, rollbacks = 0, 0, None, 0
while step < 400:
    b = batch(data)
    loss = nn.functional.cross_entropy(net(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten())
    opt.zero_grad()
    fab.backward(loss)
    fab.clip_gradients(net, opt, max_norm=1.0)
    opt.step()
    step, data = step + 1, data + 1
    time.sleep(0.16)
    v = loss.item()
    if step % 5 == 0 or (avg and v > 1.5 * avg):
        say(event="train", step=step, data=data, loss=round(v, 4), smooth=round(avg or v, 4), lr=0.6)
    if avg and step > 60 and v > 2.0 * avg + 0.3:
        good = (step - 1) // 60 * 60
        st = {"net": net, "opt": opt}
        rest = fab.load(f"ckpt/step_{good}.ckpt", st)
        rollbacks += 1
        skip = 30
        say(event="rollback", reason="loss spike", spike=round(v, 4), smooth=round(avg, 4), from_step=step, to_step=good,
            skip_batches=skip, n=rollbacks)
        step, avg, data = good, rest["avg"], data + skip
        continue
    avg = v if avg is None else 0.95 * avg + 0.05 * v
    if step % 60 == 0:
        fab.save(f"ckpt/step_{step}.ckpt", {"net": net, "opt": opt, "avg": avg})
        say(event="checkpoint", step=step, path=f"ckpt/step_{step}.ckpt")
say(event="end", step=step, rollbacks=rollbacks, loss=round(avg, 4))
