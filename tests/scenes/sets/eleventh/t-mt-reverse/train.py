"""玩具机器翻译：Transformer 学习把数字序列倒序。"""
import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import argparse, logging, time
import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--peak-lr", type=float, default=0.25)
ap.add_argument("--warmup", type=int, default=800)
ap.add_argument("--steps", type=int, default=600)
a = ap.parse_args()
logging.basicConfig(format="%(asctime)s - %(levelname)s - %(message)s", level=logging.INFO)
torch.set_num_threads(1)
torch.manual_seed(10)
V, N = 30, 10


class Model(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.e, self.p = nn.Embedding(V, d), nn.Parameter(torch.randn(N, d) * 0.3)
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 64, 0.0, batch_first=True), 3, enable_nested_tensor=False)
        self.o = nn.Linear(d, V)

    def forward(self, x):
        return self.o(self.enc(self.e(x) + self.p))


net = Model()
opt = torch.optim.Adam(net.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: a.peak_lr * min((s + 1) / a.warmup, (a.warmup / (s + 1)) ** 0.5))
logging.info("参数量 %d，预热步数 %d，峰值学习率 %g", sum(p.numel() for p in net.parameters()), a.warmup, a.peak_lr)
tot = 0.0
for step in range(1, a.steps + 1):
    x = torch.randint(0, V, (32, N))
    loss = nn.functional.cross_entropy(net(x).flatten(0, 1), x.flip(1).flatten())
    opt.zero_grad(); loss.backward(); opt.step()
    lr = sched.get_last_lr()[0]
    sched.step()
    tot += loss.item()
    time.sleep(0.11)
    if step % 10 == 0:
        logging.info("第 %d 步：训练损失 %.4f，学习率 %.2e", step, tot / 10, lr)
        tot = 0.0
    if step % 100 == 0:
        torch.save(net.state_dict(), f"ckpt_{step}.pt")
        logging.info("已保存 ckpt_%d.pt", step)
logging.info("训练结束")
