import logging, time
import numpy as np, torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("sensor")


def load(n=80, days=400, seed=31):
    rng = np.random.default_rng(seed)
    t = np.arange(days)
    x = np.sin(2 * np.pi * (t / 24 + rng.random((n, 1)))) + 0.15 * rng.standard_normal((n, days))
    x[rng.random(x.shape) < 0.03] = np.nan
    gaps = int(np.isnan(x).sum())
    log.warning("결측값(NaN) %d개 발견, 직전 값으로 보간합니다", gaps)
    for row in x:
        bad = np.isnan(row)
        row[bad] = np.interp(t[bad], t[~bad], row[~bad])
    # 가끔 센서가 튄다
    for _ in range(60):
        x[rng.integers(n), rng.integers(days)] += rng.choice([-1, 1]) * 25
    return torch.tensor(x, dtype=torch.float32)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.body(x)


def main():
    torch.manual_seed(2)
    x = load()
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 24, growth_interval=60)
    skipped = 0
    for step in range(1, 301):
        rows = torch.randint(0, len(x), (12,))
        at = torch.randint(0, x.shape[1] - 49, (12,))
        w = torch.stack([x[r, i:i + 49] for r, i in zip(rows, at)])
        with torch.autocast("cpu", dtype=torch.float16):
            pred = net(w[:, :-1])
        loss = nn.functional.mse_loss(pred.float(), w[:, -1:])
        opt.zero_grad()
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.step(opt)
        scaler.update()
        if scaler.get_scale() < before:
            skipped += 1
            log.warning("step %d: 그래디언트에 inf, 이 스텝은 건너뜀 (loss scale %g -> %g)", step, before,
                        scaler.get_scale())
        time.sleep(0.2)
        if step % 5 == 0:
            log.info("step %d/300 loss %.4f", step, loss.item())
    torch.save(net.state_dict(), "forecast.pt")
    log.info("완료: 건너뛴 스텝 %d개, forecast.pt 저장", skipped)


main()
