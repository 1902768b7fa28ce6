import argparse, copy, logging, math, time
import torch
from torch import nn
a = argparse.ArgumentParser(); a.add_argument("--find-lr", action="store_true"); a = a.parse_args()
logging.basicConfig(format="%(levelname).1s %(asctime)s.%(msecs)03d %(filename)s:%(lineno)d] %(message)s", datefmt="%m%d %H:%M:%S", level=logging.INFO)
torch.set_num_threads(1); torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
def step(opt):
    x = torch.randn(64, 10); l = ((net(x) - x[:, :2].prod(1, keepdim=True)) ** 2).mean(); opt.zero_grad(); l.backward(); opt.step(); time.sleep(.12); return l.item()
lr = 1e-2
if a.find_lr:
    keep = copy.deepcopy(net.state_dict()); r, best, rows = 1e-5, math.inf, []
    logging.info("LR range test from 1e-5, until the loss blows up")
    while True:
        l = step(torch.optim.SGD(net.parameters(), r)); rows.append((r, l))
        logging.info("lr %.3e loss %.6g", r, l)
        best = min(best, l)
        if not math.isfinite(l) or (l > 1e6 * best): break
        r *= 1.22
    net.load_state_dict(keep); lr = r / 40
    logging.info("range test over after %d steps (loss %g), weights restored, using lr %.3e", len(rows), l, lr)
    lr = min(lr, 5e-2)
opt = torch.optim.SGD(net.parameters(), lr, momentum=.9); sch = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 160)
for s in range(1, 161):
    l = step(opt); sch.step()
    if s % 8 == 0: logging.info("train step %d/160 loss %.5f lr %.2e", s, l, sch.get_last_lr()[0])
torch.save(net.state_dict(), "finetuned.pt"); logging.info("saved finetuned.pt")
