import argparse, time, torch
from torch import nn
p = argparse.ArgumentParser(); p.add_argument("--seed", type=int); s = p.parse_args().seed
torch.set_num_threads(1); torch.manual_seed(s)
net = nn.Sequential(nn.Conv1d(1, 8, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(32, 3)); o = torch.optim.Adam(net.parameters(), 2e-2)
print(f"### seed {s} ###"); t = torch.arange(64) / 10
for e in range(1, 11):
    c = n = tot = 0
    for _ in range(8):
        y = torch.randint(0, 3, (32,)); x = torch.sin(t * (1 + y[:, None]) + torch.rand(32, 1) * 6) + .4 * torch.randn(32, 64)
        z = net(x[:, None]); l = nn.functional.cross_entropy(z, y); o.zero_grad(); l.backward(); o.step(); tot += l.item() / 8; c += (z.argmax(1) == y).sum().item(); n += 32; time.sleep(.1)
    print(f"seed={s} epoch={e:02d} loss={tot:.4f} acc={c / n:.3f}")
torch.save(net.state_dict(), f"seed{s}.pt")
