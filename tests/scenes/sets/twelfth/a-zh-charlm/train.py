# -*- coding: utf-8 -*-
import logging, sys, time
import torch
import torch.nn as nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s", datefmt="%m-%d %H:%M:%S")
log = logging.getLogger("训练")
torch.manual_seed(3)
torch.set_num_threads(1)

词表大小, 维度, 批大小, 长度, 轮数 = 512, 96, 8, 32, 4
词表 = {"<补>": 0}


def 编码(行):
    ids = [词表.setdefault(c, len(词表)) for c in 行.strip()][:长度]
    return ids + [0] * (长度 - len(ids))


class 模型(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(词表大小, 维度, padding_idx=0)
        self.rnn = nn.GRU(维度, 128, num_layers=1, batch_first=True)
        self.out = nn.Linear(128, 词表大小)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def main():
    行们 = open("语料.txt", encoding="utf-8").readlines()
    m = 模型()
    opt = torch.optim.AdamW(m.parameters(), lr=2e-3)
    log.info("语料 %d 行,参数量 %.2f 万,设备 cpu", len(行们), sum(p.numel() for p in m.parameters()) / 1e4)
    每轮 = len(行们) // 批大小
    步 = 0
    for 轮 in range(轮数):
        for i in range(每轮):
            t = time.time()
            x = torch.tensor([编码(l) for l in 行们[i * 批大小:(i + 1) * 批大小]])
            logits = m(x[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), x[:, 1:].flatten(), ignore_index=0)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.2)
            步 += 1
            if 步 % 10 == 0:
                log.info("第 %d 轮 步 %d/%d 损失 %.4f 学习率 %.1e 每步 %.2f 秒", 轮 + 1, 步, 每轮 * 轮数, loss.item(), 2e-3, time.time() - t)
        torch.save(m.state_dict(), f"模型_{轮 + 1}.pt")
        log.info("第 %d 轮结束,已保存 模型_%d.pt", 轮 + 1, 轮 + 1)
    log.info("训练完成")


if __name__ == "__main__":
    main()
