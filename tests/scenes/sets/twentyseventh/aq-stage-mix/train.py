"""分阶段预训练：第一阶段网页，第二阶段加入代码，第三阶段退火（干净数据）。"""
import math
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(17)
V, T, B = 256, 40, 8
STAGES = [("网页", 150, (1.0, 0.0), 3e-3), ("网页+代码", 170, (0.5, 0.5), 3e-3), ("退火", 120, (0.6, 0.4), 3e-4)]
tables = [torch.randint(0, 128, (V, 2), generator=torch.Generator().manual_seed(1)),
          torch.randint(128, 256, (V, 3), generator=torch.Generator().manual_seed(2))]


def batch(mix):
    rows = []
    for _ in range(B):
        tab = tables[0 if torch.rand(1).item() < mix[0] else 1]
        x = torch.empty(T + 1, dtype=torch.long)
        x[0] = tab[torch.randint(0, V, (1,)), 0]
        pick = torch.randint(0, tab.shape[1], (T,))
        for t in range(T):
            x[t + 1] = tab[x[t], pick[t]]
        rows.append(x)
    return torch.stack(rows)


class LM(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, d), nn.Embedding(T, d)
        layer = nn.TransformerEncoderLayer(d, 4, 4 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(d, V)
        self.register_buffer("mask", torch.triu(torch.ones(T, T, dtype=torch.bool), 1))

    def forward(self, x):
        return self.head(self.body(self.tok(x) + self.pos.weight, mask=self.mask))


net = LM()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, betas=(0.9, 0.95))
os.makedirs("权重", exist_ok=True)
step, total = 0, sum(s[1] for s in STAGES)
for number, (name, steps, mix, peak) in enumerate(STAGES, 1):
    print(f"===== 阶段 {number}：{name}，{steps} 步，网页/代码 = {mix[0]}/{mix[1]}，损失会先上升 =====" if number == 2 else
          f"===== 阶段 {number}：{name}，{steps} 步 =====", flush=True)
    for k in range(steps):
        step += 1
        lr = peak * min(1.0, (k + 1) / 20) if number < 3 else peak * (1 - k / steps)
        for g in opt.param_groups:
            g["lr"] = lr
        x = batch(mix)
        loss = F.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        time.sleep(0.3)
        if step % 2 == 0:
            print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} 步数 {step}/{total} 损失 {loss.item():.4f} 困惑度 {math.exp(loss.item()):.1f} 学习率 {lr:.2e} 梯度范数 {norm:.2f}", flush=True)
    torch.save(net.state_dict(), f"权重/阶段{number}.pt")
    print(f"已保存 权重/阶段{number}.pt", flush=True)
print("训练完成", flush=True)
