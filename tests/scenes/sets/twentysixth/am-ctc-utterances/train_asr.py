"""CTC speech model; utterances sorted by length, one long epoch, goes on from its last state."""
import json
import os
import time
import wave

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Subset

torch.manual_seed(0)
torch.set_num_threads(1)
ROWS = json.load(open("manifest.json"))


class Utts(Dataset):
    def __len__(self):
        return len(ROWS) * 2

    def __getitem__(self, i):
        r = ROWS[i // 2]
        with wave.open(r["wav"], "rb") as w:
            sig = np.frombuffer(w.readframes(w.getnframes()), dtype="<i2").astype("float32") / 32768
        n = len(sig) // 160
        spec = np.log1p(np.abs(np.fft.rfft(sig[: n * 160].reshape(n, 160), axis=1)))
        return torch.tensor(spec, dtype=torch.float32), torch.tensor([ord(c) - 96 for c in r["text"]])


def collate(items):
    xs, ys = zip(*items)
    return (nn.utils.rnn.pad_sequence(xs, batch_first=True), torch.tensor([len(x) for x in xs]),
            torch.cat(ys), torch.tensor([len(y) for y in ys]))


net = nn.Sequential(nn.Linear(81, 128), nn.ReLU(), nn.Linear(128, 9))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
done = 0
if os.path.exists("state.pt"):
    s = torch.load("state.pt")
    net.load_state_dict(s["net"])
    opt.load_state_dict(s["opt"])
    done = s["batch"]
    print(f"[asr] state.pt found, going on after batch {done}", flush=True)
data = Utts()
BS = 2
loader = DataLoader(Subset(data, range(done * BS, len(data))), batch_size=BS, num_workers=1, collate_fn=collate)
t0 = time.time()
for b, (x, xl, y, yl) in enumerate(loader, done + 1):
    lp = net(x).log_softmax(-1).transpose(0, 1)
    loss = nn.functional.ctc_loss(lp, y, xl, yl, zero_infinity=True)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.25)
    if b % 5 == 0:
        print(f"[asr] batch {b:3d}/{len(data) // BS} ctc {loss.item():7.3f}  {(time.time() - t0):6.1f}s", flush=True)
    if b % 30 == 0:
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "batch": b}, "state.tmp")
        os.replace("state.tmp", "state.pt")
        print(f"[asr] state.pt saved at batch {b}", flush=True)
print("[asr] epoch finished", flush=True)
