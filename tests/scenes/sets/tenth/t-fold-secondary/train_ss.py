"""Predict helix propensity per residue. One shard of sequences per epoch, round and round."""
import argparse, glob, time
import torch
from torch import nn

AA = {a: i + 1 for i, a in enumerate("ACDEFGHIKLMNPQRSTVWY")}
HELIX = dict(zip("ACDEFGHIKLMNPQRSTVWY", [1.42, .70, 1.01, 1.51, 1.13, .57, 1.00, 1.08, 1.16, 1.21, 1.45, .67, .57, 1.11, .98, .77, .83, 1.06, 1.08, .69]))


def read_fasta(path):
    for block in open(path).read().split(">")[1:]:
        head, *seq = block.splitlines()
        yield head, "".join(seq)


def encode(seqs):
    m = max(map(len, seqs))
    x, y = torch.zeros(len(seqs), m, dtype=torch.long), torch.full((len(seqs), m), float("nan"))
    for k, s in enumerate(seqs):
        x[k, : len(s)] = torch.tensor([AA[a] for a in s])
        h = torch.tensor([HELIX[a] for a in s])
        y[k, : len(s)] = nn.functional.avg_pool1d(h[None], 5, 1, 2)[0]
    return x, y


class Net(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.e = nn.Embedding(21, d, padding_idx=0)
        self.c = nn.Sequential(nn.Conv1d(d, d, 5, padding=2), nn.ReLU(), nn.Conv1d(d, 1, 5, padding=2))

    def forward(self, x):
        return self.c(self.e(x).transpose(1, 2))[:, 0]


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--shards"); ap.add_argument("--epochs", type=int)
    a = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    shards = sorted(glob.glob(f"{a.shards}/*.fa"))
    print(f"{len(shards)} shards, {sum(p.numel() for p in net.parameters())} weights")
    for ep in range(a.epochs):
        seqs = [s for _, s in read_fasta(shards[ep % len(shards)])]
        tot = 0.0
        for k in range(0, len(seqs), 4):
            x, y = encode(seqs[k : k + 4])
            ok = ~y.isnan()
            loss = ((net(x)[ok] - y[ok]) ** 2).mean()
            opt.zero_grad(); loss.backward(); opt.step()
            tot += loss.item()
            time.sleep(0.14)
            if k // 4 % 8 == 7:
                print(f"epoch {ep} [{k + 4}/{len(seqs)}] mse {tot / (k // 4 + 1):.5f}")
        torch.save(net.state_dict(), "models/last.pt")
    print("training finished")
