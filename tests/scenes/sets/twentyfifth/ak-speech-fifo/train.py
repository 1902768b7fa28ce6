"""Phone recogniser: a small BiGRU with CTC, frames come through a named pipe from feeder.py."""
import logging
import os
import sys
import time

import numpy as np
import torch
import torch.nn as nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO,
                    format="[%(asctime)s] %(name)s: %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("phones")

PHONES, FRAMES, DIM, BATCH, STEPS = 6, 30, 16, 16, 450
RECORD = PHONES * 4 + FRAMES * DIM * 4


class Pipe:
    """Keeps both ends open: the feeder may be started anew between corpora without an end of file here."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDWR)

    def record(self):
        parts, need = [], RECORD
        while need:
            b = os.read(self.fd, need)
            parts.append(b)
            need -= len(b)
        return b"".join(parts)

    def batch(self):
        ys, xs = [], []
        for _ in range(BATCH):
            r = self.record()
            ys.append(np.frombuffer(r[:PHONES * 4], np.int32))
            xs.append(np.frombuffer(r[PHONES * 4:], np.float32).reshape(FRAMES, DIM))
        return torch.from_numpy(np.stack(xs)), torch.from_numpy(np.stack(ys)).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(DIM, 48, bidirectional=True, batch_first=True)
        self.out = nn.Linear(96, 13)

    def forward(self, x):
        return self.out(self.rnn(x)[0]).log_softmax(-1)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    pipe, net = Pipe(sys.argv[1]), Net()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    ctc = nn.CTCLoss()
    il, tl = torch.full((BATCH,), FRAMES), torch.full((BATCH,), PHONES)
    for step in range(1, STEPS + 1):
        x, y = pipe.batch()
        loss = ctc(net(x).transpose(0, 1), y, il, tl)
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        time.sleep(0.3)
        if step % 10 == 0:
            log.info("step %d | ctc %.4f | grad %.2f", step, loss.item(), norm)
        if step % 50 == 0:
            torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, f"ckpt_{step:05d}.pt")
            log.info("saved ckpt_%05d.pt", step)
    log.info("finished after %d steps", STEPS)


if __name__ == "__main__":
    main()
