"""半精度训练，动态损失缩放。"""
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from corpus import text

PACE = float(os.environ.get("PACE", 0.4))
torch.set_num_threads(1)
torch.manual_seed(31)
SEQ, BATCH, STEPS, D = 64, 4, 300, 96
ids = torch.tensor(list(text(300_000, 6).encode()))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.pos = nn.Embedding(256, D), nn.Embedding(SEQ, D)
        self.mix = nn.ModuleList(nn.GRU(D, D, batch_first=True) for _ in range(1))
        self.ff = nn.Sequential(nn.LayerNorm(D), nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.head = nn.Linear(D, 256)

    def forward(self, x):
        h = self.emb(x) + self.pos(torch.arange(SEQ))
        with torch.autocast("cpu", enabled=False):
            for m in self.mix:
                h = h + m(h)[0]
        return self.head(h + self.ff(h))


model = LM()
opt = torch.optim.AdamW(model.parameters(), lr=1.5e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 26, growth_interval=60)
skipped = 0
print(f"参数量 {sum(p.numel() for p in model.parameters()):,}，精度 fp16，初始缩放系数 {scaler.get_scale():.0f}", flush=True)
for step in range(1, STEPS + 1):
    t = time.time()
    k = torch.randint(0, len(ids) - SEQ - 1, (BATCH,))
    w = torch.stack([ids[j: j + SEQ + 1] for j in k])
    with torch.autocast("cpu", dtype=torch.float16):
        logits = model(w[:, :-1])
    loss = F.cross_entropy(logits.float().flatten(0, 1), w[:, 1:].flatten())
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    time.sleep(PACE)
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    if scaler.get_scale() < before:
        skipped += 1
        print(f"{stamp} [警告] 梯度溢出 (inf)，跳过第 {step} 步，缩放系数 {before:.0f} -> {scaler.get_scale():.0f}", flush=True)
    else:
        print(f"{stamp} 步数 {step}/{STEPS} 损失 {loss.item():.4f} 梯度范数 {norm:.3f} 缩放 {scaler.get_scale():.0f} 用时 {time.time() - t:.2f}秒", flush=True)
    if step % 75 == 0:
        torch.save(model.state_dict(), f"ckpt_{step}.pt")
        print(f"{stamp} 已保存 ckpt_{step}.pt", flush=True)
print(f"训练完成，共跳过 {skipped} 步", flush=True)
