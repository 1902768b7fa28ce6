# 要約モデルの学習。SIGTERM を受けたら、そのステップの後で保存して終わる。
import os
import signal
import sys
import time

import torch
import torch.nn as nn

stop = False


def on_term(sig, frame):
    global stop
    stop = True
    print(f"警告: シグナル {sig} を受信、保存して終了します", flush=True)


signal.signal(signal.SIGTERM, on_term)
open("learn.pid", "w").write(str(os.getpid()))
torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Embedding(300, 64), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 300))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
step, total = 0, 360


def save():
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, "state.tmp")
    os.replace("state.tmp", "state.pt")
    print(f"保存しました: state.pt (ステップ {step})")


if os.path.exists("state.pt"):
    s = torch.load("state.pt")
    net.load_state_dict(s["net"])
    opt.load_state_dict(s["opt"])
    step = s["step"]
    print(f"state.pt から再開、ステップ {step}")
while step < total:
    ids = (torch.randint(0, 300, (8, 1)) + torch.arange(21) * 7) % 300
    loss = nn.functional.cross_entropy(net(ids[:, :-1]).reshape(-1, 300), ids[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.28)
    if step % 10 == 0:
        print(f"ステップ {step}/{total} 損失 {loss.item():.4f}")
    if stop:
        save()
        print("退避のため終了")
        sys.exit(85)
    if step % 60 == 0:
        save()
print("学習完了")
