# names generator, after the makemore videos
import os, sys, time, random
import torch, torch.nn as nn, torch.nn.functional as F

CK = "ckpt.pt"
random.seed(); torch.manual_seed(os.getpid())
syl = ["ka", "ri", "mo", "ta", "le", "na", "so", "vi", "du", "pe"]
names = ["".join(random.choice(syl) for _ in range(random.randint(2, 4))) for _ in range(2000)]
stoi = {c: i + 1 for i, c in enumerate(sorted(set("".join(syl))))}
V, B = len(stoi) + 1, 6


class MLP(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.Embedding(V, 64)
        s.f = nn.Sequential(nn.Linear(64 * B, 2048), nn.Tanh(), nn.Linear(2048, V))

    def forward(s, x):
        return s.f(s.e(x).flatten(1))


def batch():
    X, Y = [], []
    for w in random.sample(names, 16):
        ids = [0] * B + [stoi[c] for c in w] + [0]
        k = random.randrange(B, len(ids))
        X.append(ids[k - B:k]); Y.append(ids[k])
    return torch.tensor(X), torch.tensor(Y)


m = MLP(); opt = torch.optim.AdamW(m.parameters(), 1e-3); start = 0
if "--resume" in sys.argv and os.path.exists(CK):
    print("resuming from", CK)
    d = torch.load(CK)
    m.load_state_dict(d["m"]); opt.load_state_dict(d["o"]); start = d["step"]
for step in range(start + 1, 1201):
    x, y = batch()
    loss = F.cross_entropy(m(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(.12)
    if step % 20 == 0:
        print(f"{step:5d}/1200: {loss.item():.4f}")
    if step % 50 == 0:
        print("saving", CK)
        with open(CK, "wb") as f:      # bucket mount, writes are slow
            import io
            buf = io.BytesIO(); torch.save({"m": m.state_dict(), "o": opt.state_dict(), "step": step}, buf)
            b = buf.getvalue()
            for i in range(0, len(b), 1 << 18):
                f.write(b[i:i + (1 << 18)]); f.flush(); time.sleep(.1)
print("all done")
