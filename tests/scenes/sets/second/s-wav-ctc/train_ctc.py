import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import logging
import sys
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(9)
logging.basicConfig(format="%(asctime)s | %(levelname)s | %(name)s | %(message)s", datefmt="%Y-%m-%d %H:%M:%S",
                    level=logging.INFO, stream=sys.stdout)
log = logging.getLogger("wav_ctc.trainer")
rnn = nn.GRU(20, 48, batch_first=True)
head = nn.Linear(48, 12)
params = list(rnn.parameters()) + list(head.parameters())
opt = torch.optim.Adam(params, lr=2e-3)
log.info("begin training epoch 1; will write checkpoint_last.pt every 150 updates")
for n in range(1, 3001):
    x = torch.randn(4, 30, 20)
    y = torch.randint(1, 12, (4, 6))
    for b in range(4):
        for k in range(6):
            x[b, k * 5:(k + 1) * 5, y[b, k]] += 3
    h, _ = rnn(x)
    lp = head(h).log_softmax(-1).transpose(0, 1)
    loss = nn.functional.ctc_loss(lp, y, torch.full((4,), 30), torch.full((4,), 6))
    opt.zero_grad()
    loss.backward()
    g = nn.utils.clip_grad_norm_(params, 5.0)
    opt.step()
    time.sleep(0.12)
    if n % 20 == 0:
        log.info("epoch 001: %5d / 3000 loss=%.3f, wps=812, ups=7.8, wpb=104, bsz=4, num_updates=%d, lr=0.002, gnorm=%.3f, "
                 "clip=12, train_wall=%d, gb_free=11.3", n, loss.item(), n, g, n * 0.13)
    if n % 150 == 0:
        torch.save({"rnn": rnn.state_dict(), "head": head.state_dict(), "n": n}, "checkpoint_last.pt")
        log.info("Saved checkpoint checkpoint_last.pt (epoch 1 @ %d updates, score None)", n)
