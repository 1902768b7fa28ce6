"""CTC on tone sequences. Batches go from the short utterances to the long ones in each epoch (SortaGrad)."""
import json
import os
import time
import warnings

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

PAUSE = float(os.environ.get("PAUSE", "0.4"))
torch.set_num_threads(1)
torch.manual_seed(8)
rng = np.random.default_rng(8)
TONES = rng.normal(0, 1, (10, 12))


def corpus(n):
    out = []
    for _ in range(n):
        y = rng.integers(0, 10, rng.integers(2, 17))
        frames = np.repeat(TONES[y], rng.integers(3, 6, len(y)), axis=0)
        if rng.random() < 0.01:
            frames = frames[:max(1, len(y) // 2)]  # cut off too early: shorter than its text
        out.append((torch.from_numpy((frames + rng.normal(0, 0.6, frames.shape)).astype(np.float32)), torch.from_numpy(y) + 1))
    return sorted(out, key=lambda p: len(p[1]))


train, val = corpus(448), corpus(64)


def batches(data, size=16):
    for i in range(0, len(data), size):
        part = data[i:i + size]
        yield (nn.utils.rnn.pad_sequence([x for x, _ in part], batch_first=True), torch.tensor([len(x) for x, _ in part]),
               torch.cat([y for _, y in part]), torch.tensor([len(y) for _, y in part]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(12)
        self.rnn = nn.GRU(12, 48, batch_first=True, bidirectional=True)
        self.out = nn.Linear(96, 11)

    def forward(self, x):
        return self.out(self.rnn(self.norm(x))[0]).log_softmax(-1)


def losses(net, x, xl, y, yl):
    return F.ctc_loss(net(x).transpose(0, 1), y, xl, yl, reduction="none", zero_infinity=True)


net = Net()
opt = torch.optim.Adam(net.parameters(), 2e-3)
step = 0
for epoch in range(1, 13):
    left_out = 0
    for batch in batches(train):
        step += 1
        each = losses(net, *batch)
        fine = each > 0  # zero_infinity made an infinite one 0
        left_out += int((~fine).sum())
        loss = each[fine].mean()  # nats per utterance
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        print(json.dumps({"epoch": epoch, "step": step, "frames": int(batch[0].shape[1]), "loss": round(loss.item(), 3), "grad_norm": round(norm.item(), 2)}), flush=True)
        time.sleep(PAUSE)
    if left_out:
        warnings.warn(f"epoch {epoch}: {left_out} utterances have inf loss (shorter than their text), left out", RuntimeWarning)
    with torch.no_grad():
        each = torch.cat([losses(net, *b) for b in batches(val)])
    print(json.dumps({"epoch": epoch, "val_loss": round(each[each > 0].mean().item(), 3)}), flush=True)
    torch.save(net.state_dict(), "ctc_last.pt")
print("finished", flush=True)
