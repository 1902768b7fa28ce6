import argparse
import json
import os
import time
from datetime import datetime

import torch
from torch import nn

参数 = argparse.ArgumentParser()
参数.add_argument("--conf")
conf = json.load(open(参数.parse_args().conf, encoding="utf-8"))
V, B = conf["词表"], conf["批大小"]
torch.manual_seed(20)
torch.set_num_threads(1)


def 日志(*a):
    print(datetime.now().strftime("[%Y-%m-%d %H:%M:%S]"), *a)


class 模型(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(24, 64, batch_first=True, bidirectional=True)
        self.out = nn.Linear(128, V)

    def forward(self, x):
        return self.out(self.rnn(x)[0]).log_softmax(-1)


音素 = torch.randn(V, 24)


def 语料流():
    """按录音顺序读取, 每条: 特征, 文本, 特征长度."""
    n = 0
    while True:
        n += 1
        字数 = int(torch.randint(4, 9, (1,)))
        文本 = torch.randint(1, V, (字数,))
        每字 = int(torch.randint(3, 6, (1,)))
        特征 = 音素[文本].repeat_interleave(每字, 0) + 0.3 * torch.randn(字数 * 每字, 24)
        if n > 1700 and n % 97 == 0:  # 第二批录音: 按 60 ms 切段
            特征 = 特征[:6]
            文本 = 文本 if 字数 > 6 else torch.randint(1, V, (8,))
        yield 特征, 文本


def 批次():
    流 = 语料流()
    while True:
        条 = [next(流) for _ in range(B)]
        x = nn.utils.rnn.pad_sequence([c[0] for c in 条], batch_first=True)
        yield x, torch.cat([c[1] for c in 条]), torch.tensor([len(c[0]) for c in 条]), torch.tensor([len(c[1]) for c in 条])


net = 模型()
ctc = nn.CTCLoss()
opt = torch.optim.Adam(net.parameters(), lr=conf["学习率"])
os.makedirs(conf["输出"], exist_ok=True)
日志("配置", json.dumps(conf, ensure_ascii=False))
日志("参数量", sum(p.numel() for p in net.parameters()))
t0 = time.time()
for 步, (x, y, xl, yl) in enumerate(批次(), 1):
    loss = ctc(net(x).transpose(0, 1), y, xl, yl)
    opt.zero_grad()
    loss.backward()
    范数 = nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
    time.sleep(0.07)
    if 步 % 10 == 0 or not torch.isfinite(loss) and loss == loss:
        日志(f"第{步}步/{conf['步数']} 损失={loss.item():.4f} 梯度范数={float(范数):.3f} 速度={步 / (time.time() - t0):.1f}步/秒")
    if 步 % conf["保存间隔"] == 0:
        torch.save(net.state_dict(), f"{conf['输出']}/latest.pt")
        日志("模型已保存到", f"{conf['输出']}/latest.pt")
    if 步 >= conf["步数"]:
        break
日志("训练结束")
