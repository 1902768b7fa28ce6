import logging
import sys
import time

import torch
import torch.nn as nn

import store

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s")
log = logging.getLogger("tagger")
torch.set_num_threads(1)
torch.manual_seed(0)
TOTAL, EVERY = 900, 40


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(2000, 48)
        self.rnn = nn.LSTM(48, 48, bidirectional=True, batch_first=True)
        self.out = nn.Linear(96, 9)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


net = Tagger()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
tag_of = torch.randint(0, 9, (2000,))
step = 0
if (state := store.load(log)) is not None:
    net.load_state_dict(state["net"])
    opt.load_state_dict(state["opt"])
    step = state["step"]
    log.info("resumed at step %d", step)
while step < TOTAL:
    step += 1
    x = (torch.rand(16, 20) ** 3 * 2000).long()
    loss = nn.functional.cross_entropy(net(x).flatten(0, 1), tag_of[x].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.2)
    if step % 10 == 0:
        log.info("step %d/%d loss %.4f", step, TOTAL, loss.item())
    if step % EVERY == 0:
        log.info("saving step %d to %s", step, store.PATH)
        store.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step})
log.info("finished")
