import copy
import logging
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from saver import Saver

logging.basicConfig(filename="mlm.log", level=logging.INFO,
                    format="%(asctime)s %(name)-6s %(levelname)-7s %(message)s")
log = logging.getLogger("mlm")
torch.manual_seed(5)
torch.set_num_threads(1)
V, L, B, MASK = 300, 24, 12, 0


class Encoder(nn.Module):
    def __init__(self, d=96):
        super().__init__()
        self.emb, self.pos = nn.Embedding(V, d), nn.Parameter(torch.randn(L, d) * 0.02)
        lay = nn.TransformerEncoderLayer(d, 4, 2 * d, dropout=0.1, batch_first=True)
        self.enc = nn.TransformerEncoder(lay, 2, enable_nested_tensor=False)
        self.out = nn.Linear(d, V)

    def forward(self, x):
        return self.out(self.enc(self.emb(x) + self.pos))


nxt = torch.randint(1, V, (V, 2))


def batch():
    x = torch.empty(B, L, dtype=torch.long)
    x[:, 0] = torch.randint(1, V, (B,))
    for t in range(1, L):
        x[:, t] = nxt[x[:, t - 1], torch.randint(0, 2, (B,))]
    y, m = x.clone(), torch.rand(B, L) < 0.15
    x[m] = MASK
    y[~m] = -100
    return x, y


net, saver = Encoder(), Saver("vol")
opt = torch.optim.AdamW(net.parameters(), lr=1.5e-3)
STEPS = 520
log.info("start, %d steps, checkpoints every 60 steps to vol (network volume)", STEPS)
ema = None
for step in range(1, STEPS + 1):
    x, y = batch()
    loss = F.cross_entropy(net(x).view(-1, V), y.view(-1), ignore_index=-100)
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema = loss.item() if ema is None else 0.95 * ema + 0.05 * loss.item()
    time.sleep(0.25)
    if step % 10 == 0:
        log.info("step %06d mlm_loss %.4f lr %.2e", step, ema, opt.param_groups[0]["lr"])
    if step % 60 == 0:
        saver.put(step, {"net": copy.deepcopy(net.state_dict()), "opt": copy.deepcopy(opt.state_dict()), "step": step})
log.info("last step done, writing the final weights")
saver.write(STEPS, {"net": net.state_dict(), "step": STEPS})
log.info("finished")
