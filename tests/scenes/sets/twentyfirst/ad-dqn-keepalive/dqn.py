"""DQN on a grid with keys; one file holds the networks and the replay memory."""
import argparse, os, pickle, time
import numpy as np
import torch
import torch.nn as nn

ap = argparse.ArgumentParser()
ap.add_argument("--state", default="state.pkl")
ap.add_argument("--updates", type=int, default=600)
a = ap.parse_args()
torch.set_num_threads(1)
torch.manual_seed(0)
open("pid", "w").write(str(os.getpid()))
OBS, ACT = 48, 4
rng = np.random.default_rng(0)
W = rng.normal(size=(OBS, ACT)) / 7


def net():
    return nn.Sequential(nn.Linear(OBS, 64), nn.ReLU(), nn.Linear(64, ACT))


def save(path, obj, mb_per_s=2.5):
    # the volume is shared, so write slowly
    raw = pickle.dumps(obj, protocol=4)
    with open(path, "wb") as f:
        for k in range(0, len(raw), 1 << 18):
            f.write(raw[k:k + (1 << 18)])
            f.flush()
            if k == 0:
                print(f"saving state at update {obj['step']} ({len(raw) / 1e6:.1f} MB)", flush=True)
            time.sleep(0.25 / mb_per_s)


q, tgt = net(), net()
tgt.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), 5e-4)
mem_s, mem_a, mem_r, fill = np.zeros((70000, OBS), np.float32), np.zeros(70000, np.int64), np.zeros(70000, np.float32), 0
step = 0
if os.path.exists(a.state):
    print(f"resuming from {a.state} ({os.path.getsize(a.state) / 1e6:.1f} MB)", flush=True)
    with open(a.state, "rb") as f:
        d = pickle.load(f)
    q.load_state_dict(d["q"]); tgt.load_state_dict(d["q"]); opt.load_state_dict(d["opt"])
    mem_s, mem_a, mem_r, fill, step = d["s"], d["a"], d["r"], d["fill"], d["step"]
ret = 0.0
while step < a.updates:
    step += 1
    s = rng.normal(size=(256, OBS)).astype(np.float32)
    with torch.no_grad():
        act = q(torch.from_numpy(s)).argmax(1).numpy()
    eps = max(0.05, 1 - step / 200)
    act = np.where(rng.random(256) < eps, rng.integers(0, ACT, 256), act)
    rew = (s @ W)[np.arange(256), act] + rng.normal(0, 0.3, 256)
    ix = np.arange(fill, fill + 256) % len(mem_a)
    mem_s[ix], mem_a[ix], mem_r[ix], fill = s, act, rew, fill + 256
    for _ in range(4):
        j = rng.integers(0, min(fill, len(mem_a)), 128)
        x = torch.from_numpy(mem_s[j])
        with torch.no_grad():
            y = torch.from_numpy(mem_r[j]) + 0.5 * tgt(x).max(1).values
        loss = nn.functional.smooth_l1_loss(q(x)[torch.arange(128), torch.from_numpy(mem_a[j])], y)
        opt.zero_grad(); loss.backward(); opt.step()
    if step % 10 == 0:
        tgt.load_state_dict(q.state_dict())
    ret += 0.05 * (rew.mean() - ret) if ret else rew.mean()
    time.sleep(0.3)
    if step % 2 == 0:
        print(f"update {step} | eps {eps:.2f} | td-loss {loss.item():.4f} | return {ret:.3f} | mem {min(fill, 70000)}", flush=True)
    if step % 30 == 0:
        save(a.state, dict(q=q.state_dict(), opt=opt.state_dict(), s=mem_s, a=mem_a, r=mem_r, fill=fill, step=step))
        print(f"saved {a.state}", flush=True)
print("training complete", flush=True)
