"""分词模型训练。权重由子进程写出,训练不必等慢盘;指标由后台线程登记。"""
import ctypes, multiprocessing as mp, os, threading, time, json
import torch
import torch.nn as nn

torch.manual_seed(21)
torch.set_num_threads(1)
BOOK = threading.Lock()          # 保护 registry.jsonl


def register(kind, **kw):
    with BOOK:
        with open("registry.jsonl", "a") as f:
            f.write(json.dumps({"kind": kind, **kw}, ensure_ascii=False) + "\n")


def flush_metrics(rows):
    with BOOK:                   # 网络盘慢,一行一行写
        with open("registry.jsonl", "a") as f:
            for r in rows:
                f.write(json.dumps(r) + "\n")
                f.flush()
                time.sleep(0.012)


def write_weights(state, path):
    ctypes.CDLL(None).prctl(1, 9)      # 主进程没了就一起退出
    tmp = path + ".tmp"
    torch.save(state, tmp)
    os.replace(tmp, path)
    print(f"权重已保存:{path}({os.path.getsize(path) // 1024} KB)", flush=True)
    register("weights", path=path)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(500, 32)
        self.rnn = nn.GRU(32, 48, batch_first=True, bidirectional=True)
        self.out = nn.Linear(96, 4)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def main():
    net = Tagger()
    opt = torch.optim.Adam(net.parameters(), 2e-3)
    g = torch.Generator().manual_seed(3)
    os.makedirs("模型", exist_ok=True)
    print("开始训练,语料 12 卷,CPU", flush=True)
    rows, last = [], time.time()
    for volume in range(1, 31):
        tot = ok = n = 0
        for _ in range(24):
            x = torch.randint(0, 500, (16, 40), generator=g)
            y = x % 7 % 4
            o = net(x)
            loss = nn.functional.cross_entropy(o.flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
            ok += (o.argmax(-1) == y).sum().item()
            n += y.numel()
            rows.append({"kind": "loss", "v": round(loss.item(), 4)})
            time.sleep(0.1)
        print(f"平均损失 {tot / 24:.4f},准确率 {ok / n:.2%},用时 {time.time() - last:.1f} 秒", flush=True)
        last = time.time()
        if volume % 5 == 0:      # 登记指标
            threading.Thread(target=flush_metrics, args=(rows,), daemon=True).start()
            rows = []
            time.sleep(0.05)
        if volume % 3 == 0:      # 写权重
            p = mp.get_context("fork").Process(target=write_weights, args=(net.state_dict(), f"模型/分词_{volume * 24 * 16 * 40 // 10000}万字.pt"))
            p.start()
            p.join()
    print("训练结束", flush=True)


if __name__ == "__main__":
    main()
