import argparse
import logging
import time

import torch
from torch import nn

from data import collate, load_segments

logging.basicConfig(level=logging.INFO, format="[%(process)d] %(asctime)s (%(module)s:%(lineno)d) %(levelname)s: %(message)s")
p = argparse.ArgumentParser()
p.add_argument("--max_epoch", type=int, default=5)
p.add_argument("--batch_size", type=int, default=4)
p.add_argument("--log_interval", type=int, default=10)
args = p.parse_args()
torch.manual_seed(1)
torch.set_num_threads(1)

segs = load_segments("segments.tsv")
vocab = {c: i + 1 for i, c in enumerate(sorted({c for s in segs for c in s[2]}))}
logging.info("Train segments: %d, vocabulary size: %d", len(segs), len(vocab) + 1)


class Encoder(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.conv = nn.Conv1d(24, 48, 5, padding=2)
        self.rnn = nn.GRU(48, 48, batch_first=True)
        self.out = nn.Linear(48, n_out)

    def forward(self, x):
        h = torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        return self.out(self.rnn(h)[0]).log_softmax(-1)


model = Encoder(len(vocab) + 1)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
ctc = nn.CTCLoss(blank=0, reduction="mean")
logging.info("Model structure:\n%s", model)
batches = [segs[i : i + args.batch_size] for i in range(0, len(segs), args.batch_size)]
for epoch in range(1, args.max_epoch + 1):
    logging.info("%depoch started", epoch)
    began, seen, total = time.perf_counter(), 0, 0.0
    for n, batch in enumerate(batches, 1):
        x, xl, y, yl = collate(batch, vocab)
        loss = ctc(model(x).transpose(0, 1), y, xl, yl)
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        time.sleep(0.07)
        total += loss.item()
        seen += 1
        if n % args.log_interval == 0:
            logging.info(
                "%depoch:train:%d-%dbatch: iter_time=%.3f, loss_ctc=%.3f, grad_norm=%.3f, lr=3.000e-03",
                epoch, n - args.log_interval + 1, n, (time.perf_counter() - began) / n, total / seen, float(norm))
            total, seen = 0.0, 0
    torch.save(model.state_dict(), f"{epoch}epoch.pth")
    logging.info("%depoch results saved to %depoch.pth", epoch, epoch)
