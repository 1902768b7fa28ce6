#!/usr/bin/env python
"""Toy speech recogniser: BiLSTM + CTC on synthetic filterbanks, with a length curriculum."""
import logging
import random
import sys
import time

import torch
from torch import nn

logging.basicConfig(stream=sys.stderr, level=logging.INFO,
                    format="%(levelname).1s%(asctime)s %(name)s] %(message)s", datefmt="%m%d %H:%M:%S")
log = logging.getLogger("asr")
VOCAB, MELS, SUB = 12, 20, 4
CURRICULUM = [(0, 3), (90, 5), (180, 8), (400, 14)]  # from iteration, characters at most


def utterance(longest, rng):
    """Every character takes 9 to 14 frames, as spoken by a synthetic voice."""
    text = [rng.randrange(1, VOCAB) for _ in range(rng.randint(2, longest))]
    fast = 0.3 if longest > 5 and rng.random() < 0.15 else 1.0   # speed perturbation of long ones
    frames = []
    for c in text:
        tone = torch.zeros(MELS)
        tone[c:c + 3] = 1.0
        frames += [tone + 0.1 * torch.randn(MELS) for _ in range(int(rng.randint(9, 14) * fast))]
    return torch.stack(frames), torch.tensor(text)


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = nn.Conv1d(MELS, 32, SUB, SUB)
        self.rnn = nn.LSTM(32, 32, bidirectional=True, batch_first=True)
        self.out = nn.Linear(64, VOCAB)

    def forward(self, x):
        h = self.sub(x.transpose(1, 2)).relu().transpose(1, 2)
        return self.out(self.rnn(h)[0]).log_softmax(-1)


def batch(longest, rng):
    items = [utterance(longest, rng) for _ in range(6)]
    frames = torch.tensor([len(f) for f, _ in items])
    x = nn.utils.rnn.pad_sequence([f for f, _ in items], batch_first=True)
    return x, frames // SUB, torch.cat([t for _, t in items]), torch.tensor([len(t) for _, t in items])


def main():
    torch.manual_seed(5)
    rng = random.Random(5)
    model, ctc = Recogniser(), nn.CTCLoss(blank=0)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    log.info("model: %d parameters, subsampling %d", sum(p.numel() for p in model.parameters()), SUB)
    for it in range(1, 1500):
        longest = [n for start, n in CURRICULUM if it >= start][-1]
        if it in dict(CURRICULUM):
            log.info("curriculum: up to %d characters from now on", longest)
        x, n_in, y, n_out = batch(longest, rng)
        loss = ctc(model(x).transpose(0, 1), y, n_in, n_out)
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        time.sleep(0.1)
        if it % 5 == 0 or loss.item() > 100:
            log.info("iter=%d loss=%.4f gnorm=%.3f frames=%d lr=%.1e", it, loss.item(), norm.item(),
                     int(n_in.sum()) * SUB, opt.param_groups[0]["lr"])
        if it % 100 == 0:
            torch.save(model.state_dict(), "asr_last.pt")


main()
