"""CTC training for the letter recogniser; the reader takes clips from the blob without a copy through numpy."""
import ctypes
import logging
import mmap
import os
import time

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s asr: %(message)s")
log = logging.getLogger("asr")


class Clips(Dataset):
    def __init__(self, blob, index):
        self.blob = blob
        self.rows = [line.rstrip("\n").split("\t") for line in open(index)]
        self.base = None

    def __len__(self):
        return len(self.rows)

    def _open(self):
        self.mem = np.memmap(self.blob, dtype="uint8", mode="r")
        self.base = self.mem.ctypes.data

    def __getitem__(self, i):
        if self.base is None:
            self._open()
        off, n, text = self.rows[i]
        raw = ctypes.string_at(ctypes.c_void_p(self.base + int(off) * 1).value, int(n) * 2)
        x = torch.from_numpy(np.frombuffer(raw, dtype="float16").astype("float32"))
        return x, torch.tensor([ord(c) - 96 for c in text])


def collate(items):
    xs, ys = zip(*items)
    return (nn.utils.rnn.pad_sequence(xs, batch_first=True), torch.tensor([len(x) for x in xs]),
            torch.cat(ys), torch.tensor([len(y) for y in ys]))


class Net(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.inp = nn.Linear(1, d)
        self.rnn = nn.GRU(d, d, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * d, 9)

    def forward(self, x):
        return self.out(self.rnn(torch.relu(self.inp(x[..., None])))[0]).log_softmax(-1)


def main():
    torch.manual_seed(1)
    os.makedirs("exp", exist_ok=True)
    dl = DataLoader(Clips("clips.bin", "index.tsv"), batch_size=8, num_workers=2, collate_fn=collate)
    net, step, ema = Net(), 0, None
    opt = torch.optim.Adam(net.parameters(), 2e-3)
    for epoch in range(2):
        for x, nx, y, ny in dl:
            lp = net(x).transpose(0, 1)
            loss = nn.functional.ctc_loss(lp, y, nx, ny, zero_infinity=True)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            opt.step()
            step += 1
            ema = loss.item() if ema is None else .9 * ema + .1 * loss.item()
            time.sleep(0.3)
            if step % 10 == 0:
                log.info("epoch %d step %d/%d ctc %.4f", epoch, step, 2 * len(dl), ema)
            if step % 50 == 0:
                torch.save(net.state_dict(), f"exp/ctc-{step}.pt")
                log.info("saved exp/ctc-%d.pt", step)
    log.info("done")


if __name__ == "__main__":
    main()
