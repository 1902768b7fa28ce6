"""Attention-free seq2seq on toy phone strings, 1500 utterances. 每个 epoch 结束后做一次评测."""
import random
import time

import torch
from torch import nn
from tqdm import tqdm

random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)
V, T = 12, 8


def batch(n):
    y = torch.randint(1, V, (n, T))
    x = torch.nn.functional.one_hot(y, V).float().repeat_interleave(3, 1)
    return x + 0.45 * torch.randn_like(x), y


def edit(a, b):
    row = list(range(len(b) + 1))
    for i, p in enumerate(a, 1):
        prev, row[0] = row[0], i
        for j, q in enumerate(b, 1):
            prev, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, prev + (p != q))
    return row[-1]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.GRU(V, 48, batch_first=True, bidirectional=True), nn.Linear(96, V)

    def forward(self, x):
        return self.out(self.rnn(x)[0]).log_softmax(-1)


model = Model()
opt = torch.optim.AdamW(model.parameters(), 4e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 4e-3, total_steps=16 * 45)
ctc = nn.CTCLoss(zero_infinity=True)
best = 1e9
for epoch in range(1, 17):
    total = 0.0
    bar = tqdm(range(45), desc=f"第{epoch}轮", ncols=90, mininterval=1)
    for _ in bar:
        x, y = batch(16)
        loss = ctc(model(x).transpose(0, 1), y, torch.full((16,), 3 * T), torch.full((16,), T))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        time.sleep(0.035)
        total += loss.item()
        bar.set_postfix(loss=f"{loss.item():.3f}")
    err = n = 0
    with torch.no_grad():
        x, y = batch(32)
        for path, ref in zip(model(x).argmax(-1).tolist(), y.tolist()):
            hyp = [p for k, p in enumerate(path) if p and (k == 0 or p != path[k - 1])]
            err, n = err + edit(hyp, ref), n + len(ref)
    wer = 100 * err / n
    tqdm.write(f"[评测] 第{epoch}轮 训练损失 {total / 45:.4f} 词错误率 WER {wer:.2f}%")
    if wer < best:
        best = wer
        torch.save(model.state_dict(), "best.pt")
        tqdm.write(f"[保存] 最佳模型 best.pt (WER {wer:.2f}%)")
print(f"训练完成, 最佳 WER {best:.2f}%")
