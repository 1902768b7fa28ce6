"""Which learning rate? Eight rungs up to absurd ones, the better half of the survivors goes on (successive halving)."""
import logging
import math
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("ladder")
torch.set_num_threads(1)
PAUSE = float(os.environ.get("PAUSE", 0.4))


class LM(nn.Module):
    def __init__(self, v=64, d=64):
        super().__init__()
        self.tok = nn.Embedding(v, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d), nn.ReLU(), nn.Linear(d, v))

    def forward(self, x):
        return self.ff(self.rnn(self.tok(x))[0])


class Trial:
    def __init__(self, name, lr):
        torch.manual_seed(0)
        self.name, self.lr, self.step, self.loss = name, lr, 0, math.inf
        self.net = LM()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=lr, momentum=0.9)

    def run(self, until):
        """False if it is not worth going on."""
        recent = []
        while self.step < until:
            self.step += 1
            g = torch.Generator().manual_seed(self.step)
            hops = torch.tensor([3, 3, 3, 8])[torch.randint(0, 4, (16, 25), generator=g)]
            x = (torch.randint(0, 64, (16, 1), generator=g) + hops.cumsum(1)) % 64
            loss = F.cross_entropy(self.net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            time.sleep(PAUSE)
            log.info("trial %s lr=%g step=%d loss=%.4f", self.name, self.lr, self.step, loss.item())
            if not math.isfinite(loss.item()):
                log.warning("trial %s pruned: loss is %s at lr=%g (too high)", self.name, loss.item(), self.lr)
                return False
            recent = (recent + [loss.item()])[-5:]
        self.loss = sum(recent) / len(recent)
        return True


alive = [Trial(f"t{i}", lr) for i, lr in enumerate([0.03, 1000.0, 0.3, 0.1, 100.0, 0.01, 3000.0, 0.003])]
log.info("search over %d learning rates, diverging trials are expected and pruned", len(alive))
for rung, until in enumerate([30, 60, 120], 1):
    alive = [t for t in alive if t.run(until)]
    alive.sort(key=lambda t: t.loss)
    log.info("rung %d: %s", rung, "  ".join(f"{t.name}(lr={t.lr:g})={t.loss:.3f}" for t in alive))
    for t in alive[max(1, len(alive) // 2):]:
        log.info("trial %s stopped at rung %d, loss %.3f", t.name, rung, t.loss)
    alive = alive[: max(1, len(alive) // 2)]
torch.save(alive[0].net.state_dict(), "best.pt")
log.info("best: %s lr=%g loss=%.4f, saved best.pt", alive[0].name, alive[0].lr, alive[0].loss)
