"""Sentence-pair ranking in fp16 autocast with dynamic loss scaling."""
import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import argparse, logging, time
import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--steps", type=int, default=420)
ap.add_argument("--init-scale", type=float, default=2.0**26)
ap.add_argument("--scale-window", type=int, default=40)
args = ap.parse_args()
logging.basicConfig(format="%(asctime)s | %(levelname)s | %(name)s | %(message)s", level=logging.INFO)
log, amp = logging.getLogger("trainer"), logging.getLogger("amp")
torch.set_num_threads(1)
torch.manual_seed(2)

worth = torch.randn(300)


def batch(n=48):
    q, c = torch.randint(0, 300, (n, 6)), torch.randint(0, 300, (n, 6))
    return q, c, (worth[q].sum(1) + 0.5 * torch.randn(n) > worth[c].sum(1)).float()


class Ranker(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.emb = nn.Embedding(300, d)
        self.tower = nn.Sequential(nn.Linear(2 * d, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 1))

    def forward(self, q, c):
        return self.tower(torch.cat([self.emb(q).mean(1), self.emb(c).mean(1)], 1))[:, 0]


net = Ranker()
opt = torch.optim.AdamW(net.parameters(), lr=6e-3, weight_decay=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=args.init_scale, growth_interval=args.scale_window)
lossf = nn.BCEWithLogitsLoss()
skipped, avg = 0, 0.7
for step in range(1, args.steps + 1):
    q, c, y = batch()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = lossf(net(q, c).float(), y)
    opt.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    gnorm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    if scaler.get_scale() < before:
        skipped += 1
        amp.warning("step %d: gradient overflow (grad norm %s), skipping step, reducing loss scale %g -> %g", step, f"{gnorm.item():.3g}", before, scaler.get_scale())
    avg = 0.97 * avg + 0.03 * loss.item()
    time.sleep(0.09)
    if step % 15 == 0:
        log.info("step %d/%d loss %.4f (avg %.4f) gnorm %.3f scale %g skipped %d", step, args.steps, loss.item(), avg, gnorm.item(), scaler.get_scale(), skipped)
    if step % 140 == 0:
        torch.save({"net": net.state_dict(), "scaler": scaler.state_dict(), "step": step}, f"ckpt-{step}.pt")
log.info("done after %d steps, %d skipped", args.steps, skipped)
