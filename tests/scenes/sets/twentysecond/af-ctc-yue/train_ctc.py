# 粤语短句识别：GRU + CTC，学习率按阶段调整
import csv
import logging
import time

import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(8)
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%m-%d %H:%M:%S")
V, T, L = 12, 30, 5
sound = torch.randn(V, 16)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(16, 48, batch_first=True, bidirectional=True)
        self.out = nn.Linear(96, V)

    def forward(self, x):
        return self.out(self.rnn(x)[0]).log_softmax(-1)


def batch(n=16):
    y = torch.randint(1, V, (n, L))
    x = sound[y].repeat_interleave(T // L, 1) + 0.4 * torch.randn(n, T, 16)
    return x, y


model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
# 阶段: 0 预热, 1 主训练, 2 微调
STAGE = {1: 0.02, 90: 0.05, 230: 50.0}
ctc = nn.CTCLoss()
curve = csv.writer(open("curve.csv", "w", buffering=1))
curve.writerow(["step", "lr", "loss", "ter"])
lr = 0.02
for step in range(1, 481):
    if step in STAGE:
        lr = STAGE[step]
        logging.info("进入新阶段 step=%d lr=%g", step, lr)
        for g in opt.param_groups:
            g["lr"] = lr
    x, y = batch()
    lp = model(x)
    loss = ctc(lp.transpose(0, 1), y, torch.full((16,), T), torch.full((16,), L))
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.3)
    if step % 4 == 0:
        hyp = lp.argmax(-1)
        err = 0
        for h, t in zip(hyp, y):
            h = [a for a, b in zip(h.tolist(), [-1] + h.tolist()) if a != b and a]
            # 编辑距离
            d = list(range(len(t) + 1))
            for i, a in enumerate(h, 1):
                p, d[0] = d[0], i
                for j, b in enumerate(t.tolist(), 1):
                    p, d[j] = d[j], min(d[j] + 1, d[j - 1] + 1, p + (a != b))
            err += d[-1]
        ter = err / (16 * L)
        logging.info("步 %d/480 损失 %.4f 字错率 %.2f%% lr %g", step, loss.item(), 100 * ter, lr)
        curve.writerow([step, lr, f"{loss.item():.5f}", f"{ter:.4f}"])
    if step % 60 == 0:
        torch.save({"model": model.state_dict(), "step": step}, "ctc_last.pt")
        logging.info("已保存 ctc_last.pt (step %d)", step)
logging.info("训练结束")
