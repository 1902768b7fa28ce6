"""Click model of the ad exchange, trained over the hourly partitions in order."""
import logging, time
import numpy as np, torch
from torch import nn

torch.set_num_threads(1); torch.manual_seed(7)
logging.basicConfig(format="%(asctime)s %(levelname)s ctr | %(message)s", level=logging.INFO)
log = logging.getLogger()
FIELDS = [40, 25, 60, 12]
rng = np.random.default_rng(3)
W = [rng.normal(0, .6, n) for n in FIELDS]

def partition(hour, rows):
    """Impressions of one hour, as the exporter writes them."""
    cats = np.stack([rng.integers(0, n, rows) for n in FIELDS], 1)
    bid = rng.lognormal(0.2, .5, rows)
    logit = sum(w[cats[:, i]] for i, w in enumerate(W)) + .5 * bid - 1.5
    click = (rng.random(rows) < 1 / (1 + np.exp(-logit))).astype("float32")
    if hour >= 14:                       # exporter v2
        bid = np.round(bid * 1_000_000)
    return cats, np.stack([bid, rng.random(rows)], 1).astype("float32"), click

class Cross(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.emb = nn.ModuleList(nn.Embedding(n, dim) for n in FIELDS)
        d = dim * len(FIELDS) + 2
        self.cross = nn.Linear(d, d); self.deep = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.out = nn.Linear(d + 16, 1)
    def forward(self, c, x):
        h = torch.cat([e(c[:, i]) for i, e in enumerate(self.emb)] + [x], 1)
        return torch.sigmoid(self.out(torch.cat([h * self.cross(h) + h, self.deep(h)], 1))).squeeze(1)

def logloss(p, y):
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()

model = Cross(); opt = torch.optim.Adam(model.parameters(), 2e-3)
log.info("parameters: %d, fields: %s", sum(p.numel() for p in model.parameters()), FIELDS)
step = 0
for hour in range(10, 24):
    cats, dense, click = partition(hour, 128 * 50)
    log.info("hour=%02d rows=%d ctr=%.4f", hour, len(click), click.mean())
    for i in range(0, len(click), 128):
        c, x, y = (torch.from_numpy(a[i:i + 128]) for a in (cats, dense, click))
        loss = logloss(model(c, x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        step += 1
        if step % 10 == 0:
            log.info("step %d hour=%02d logloss=%.5f", step, hour, loss.item())
        time.sleep(.1)
    torch.save(model.state_dict(), "ctr_last.pt")
log.info("done, %d steps", step)
