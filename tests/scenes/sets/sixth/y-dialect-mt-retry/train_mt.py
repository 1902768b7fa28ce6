"""方言到普通话的小型翻译模型。机器不稳定,所以能从检查点继续。"""
import os
import random
import sys
import time

import torch
import torch.nn as nn

torch.set_num_threads(1)
VOCAB, DIM, LEN, BATCH, STEPS = 1200, 48, 20, 32, 600
CKPT = "save/last.pt"


def read_batch(step):
    """第 step 批的句子;顺序固定,便于继续训练。"""
    rng = random.Random(7000 + step)
    src = [[rng.randrange(4, 1150) for _ in range(LEN)] for _ in range(BATCH)]
    tgt = [[(w * 7) % 1150 for w in line] for line in src]
    if step == 112:                     # 新词表里加了词,模型还是旧的大小
        src[5][3] = 1203
    return torch.tensor(src), torch.tensor(tgt)


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.rnn = nn.GRU(DIM, DIM, batch_first=True)
        self.out = nn.Linear(DIM, VOCAB)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def main():
    torch.manual_seed(1)
    model = Tiny()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    start = 0
    os.makedirs("save", exist_ok=True)
    if os.path.exists(CKPT):
        state = torch.load(CKPT)
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        start = state["step"]
        print(f"从检查点继续:第 {start} 步", flush=True)
    else:
        print("从头开始训练", flush=True)
    for step in range(start + 1, STEPS + 1):
        src, tgt = read_batch(step)
        loss = nn.functional.cross_entropy(model(src).flatten(0, 1), tgt.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.16)
        if step % 5 == 0:
            print(f"第 {step} 步/共 {STEPS} 步  损失 {loss.item():.4f}  学习率 {opt.param_groups[0]['lr']:.4g}", flush=True)
        if step % 25 == 0:
            torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, CKPT + ".tmp")
            os.replace(CKPT + ".tmp", CKPT)
            print(f"检查点已保存(第 {step} 步)", flush=True)
    print("训练完成", flush=True)


if __name__ == "__main__":
    sys.exit(main())
