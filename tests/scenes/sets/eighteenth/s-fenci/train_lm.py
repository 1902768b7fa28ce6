import multiprocessing as mp
import pathlib
import time

import torch
from torch import nn

窗口, 批 = 24, 16


def 读取(队列, 词表):
    for 轮 in range(20):
        for 文件 in sorted(pathlib.Path("corpus").glob("*.txt")):
            文本 = 文件.read_text(encoding="utf-8")
            编号 = [词表.get(c, 0) for c in 文本]
            片段 = [编号[i:i + 窗口 + 1] for i in range(0, len(编号) - 窗口 - 1, 8)]
            for i in range(0, len(片段) - 批, 批):
                队列.put(片段[i:i + 批])
    队列.put(None)


class 模型(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.emb = nn.Embedding(n, 32)
        self.rnn = nn.GRU(32, 48, batch_first=True)
        self.out = nn.Linear(48, n)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    首 = pathlib.Path("corpus/part_000.txt").read_text(encoding="utf-8")
    词表 = {c: i + 1 for i, c in enumerate(sorted(set(首)))}
    队列 = mp.Queue(maxsize=6)
    进程 = mp.Process(target=读取, args=(队列, 词表), name="tokenizer", daemon=True)
    进程.start()
    net = 模型(len(词表) + 1)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    print(f"词表大小 {len(词表)},参数量 {sum(p.numel() for p in net.parameters())}")
    步, 开始 = 0, time.time()
    while True:
        批次 = 队列.get()
        if 批次 is None:
            break
        x = torch.tensor(批次)
        y = net(x[:, :-1])
        损失 = nn.functional.cross_entropy(y.reshape(-1, y.shape[-1]), x[:, 1:].reshape(-1))
        opt.zero_grad()
        损失.backward()
        opt.step()
        步 += 1
        time.sleep(0.1)
        if 步 % 10 == 0:
            print(f"[{time.strftime('%H:%M:%S')}] 第 {步} 步  损失 {损失.item():.4f}  速度 {步 / (time.time() - 开始):.2f} 步/秒")
    torch.save(net.state_dict(), "lm.pt")
    print("训练完成")


if __name__ == "__main__":
    main()
