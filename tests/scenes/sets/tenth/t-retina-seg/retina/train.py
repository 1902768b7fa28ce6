import logging, os, sys, time
import torch
from torch import nn
import yaml
from torch.utils.data import DataLoader
from .config import compose
from .data import Vessels

log = logging.getLogger("retina.train")


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.a, self.b, self.c = block(1, w), block(w, 2 * w), block(3 * w, w)
        self.head = nn.Conv2d(w, 1, 1)

    def forward(self, x):
        a = self.a(x)
        b = nn.functional.interpolate(self.b(nn.functional.max_pool2d(a, 2)), scale_factor=2)
        return self.head(self.c(torch.cat([a, b], 1)))


def dice(logit, y):
    p = (logit > 0).float()
    return (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)


def main():
    cfg = compose(sys.argv[1:])
    out = time.strftime("outputs/%Y-%m-%d/%H-%M-%S")
    os.makedirs(out)
    fmt = "[%(asctime)s][%(name)s][%(levelname)s] - %(message)s"
    logging.basicConfig(level="INFO", format=fmt, handlers=[logging.StreamHandler(sys.stdout), logging.FileHandler(f"{out}/train.log")])
    yaml.safe_dump(cfg, open(f"{out}/config.yaml", "w"))
    log.info("config: %s", cfg)
    torch.set_num_threads(1)
    torch.manual_seed(cfg["seed"])
    d, t = cfg["data"], cfg["train"]
    tr = DataLoader(Vessels(d["n_train"], d["size"], 1), d["batch"], shuffle=True, num_workers=d["workers"], persistent_workers=True)
    va = DataLoader(Vessels(d["n_val"], d["size"], 2), d["batch"])
    net = UNet(cfg["model"]["width"])
    opt = torch.optim.AdamW(net.parameters(), lr=cfg["optim"]["lr"], weight_decay=cfg["optim"]["weight_decay"])
    sched = torch.optim.lr_scheduler.PolynomialLR(opt, t["epochs"] * len(tr), power=0.9)
    bce = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0))
    step = 0
    for epoch in range(t["epochs"]):
        net.train()
        for x, y in tr:
            loss = bce(net(x), y)
            opt.zero_grad(); loss.backward(); opt.step(); sched.step()
            step += 1
            time.sleep(t["step_cost"])
            if step % t["log_every"] == 0:
                log.info("epoch=%d step=%d loss=%.4f lr=%.2e", epoch, step, loss.item(), sched.get_last_lr()[0])
        net.eval()
        with torch.no_grad():
            score = sum(dice(net(x), y).item() for x, y in va) / len(va)
        log.info("epoch=%d val/dice=%.4f", epoch, score)
        if (epoch + 1) % t["ckpt_every"] == 0:
            torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, f"{out}/epoch_{epoch:02d}.ckpt")
            log.info("wrote %s/epoch_%02d.ckpt", out, epoch)
    log.info("training complete")


if __name__ == "__main__":
    main()
