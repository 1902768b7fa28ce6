"""小型语音识别 (CTC): 训练, 然后用 beam search 解码整个开发集."""
import math
import time

import torch
from torch import nn

VOCAB, FRAMES, STEPS, DEV = 12, 30, 110, 200


def utterances(n, g):
    y = torch.randint(1, VOCAB, (n, 5), generator=g)
    x = 0.6 * torch.randn(n, FRAMES, VOCAB, generator=g)
    for i in range(5):
        for j in range(6 * i, 6 * i + 3):
            x[torch.arange(n), j, y[:, i]] += 2.0
    return x, y


def beam_search(logp, beam=100):
    """Prefix beam search, without a language model."""
    beams = {(): (0.0, -math.inf)}
    for frame in logp.tolist():
        new = {}
        for prefix, (pb, pn) in beams.items():
            total = max(pb, pn)
            b, n = new.get(prefix, (-math.inf, -math.inf))
            stay = pn + frame[prefix[-1]] if prefix else -math.inf
            new[prefix] = (max(b, total + frame[0]), max(n, stay))
            for c in range(1, VOCAB):
                base = pb if prefix and prefix[-1] == c else total
                q = prefix + (c,)
                b, n = new.get(q, (-math.inf, -math.inf))
                new[q] = (b, max(n, base + frame[c]))
        beams = dict(sorted(new.items(), key=lambda kv: -max(kv[1]))[:beam])
    return next(iter(beams))


def decode(net, x, y):
    wrong = 0
    with torch.no_grad():
        logp = net(x).log_softmax(-1)
    for lp, ref in zip(logp, y.tolist()):
        hyp = beam_search(lp)
        wrong += sum(a != b for a, b in zip(hyp, ref)) + abs(len(hyp) - len(ref))
        time.sleep(0.2)
    return wrong / y.numel()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    g = torch.Generator().manual_seed(1)
    net = nn.Sequential(nn.Linear(VOCAB, 64), nn.ReLU(), nn.Linear(64, VOCAB))
    opt = torch.optim.Adam(net.parameters(), lr=1.5e-2)
    dev = utterances(DEV, g)
    for epoch in (1, 2):
        for step in range(1, STEPS + 1):
            x, y = utterances(16, g)
            logp = net(x).log_softmax(-1).transpose(0, 1)
            loss = nn.functional.ctc_loss(logp, y, torch.full((16,), FRAMES), torch.full((16,), 5))
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.35)
            if step % 5 == 0:
                print(f"第 {epoch} 轮 步 {step}/{STEPS} 损失 {loss.item():.4f}", flush=True)
        torch.save(net.state_dict(), f"asr_{epoch}.pt")
        print(f"已保存 asr_{epoch}.pt", flush=True)
        if epoch == 1:
            print(f"开始解码开发集 ({DEV} 条, beam=100), 大约一分钟, 其间没有输出", flush=True)
            print(f"开发集字错误率 {decode(net, *dev):.4f}", flush=True)
    print("训练完成", flush=True)


if __name__ == "__main__":
    main()
