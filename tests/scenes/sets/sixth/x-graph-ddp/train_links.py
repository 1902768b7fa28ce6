"""Link prediction on a made-up graph, two ranks, embeddings exported by rank 0 after each epoch."""
import datetime
import os
import sys
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

NODES = 2000


class LinkModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.node = nn.Embedding(NODES, 32)
        self.mlp = nn.Sequential(nn.Linear(96, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, pairs):
        a, b = self.node(pairs[:, 0]), self.node(pairs[:, 1])
        return self.mlp(torch.cat([a, b, a * b], dim=1))[:, 0]


def edges(n, seed):
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, NODES, size=(n, 2))
    same = rng.random(n) < 0.5  # nodes of one community (mod 20) are linked
    pairs[same, 1] = (pairs[same, 1] // 20 * 20 + pairs[same, 0] % 20) % NODES
    label = (pairs[:, 0] % 20 == pairs[:, 1] % 20).astype("float32")
    return TensorDataset(torch.from_numpy(pairs), torch.from_numpy(label))


def export_neighbours(weight, path):
    """Nearest neighbours of every node as text, block by block; this takes its time."""
    w = nn.functional.normalize(weight, dim=1)
    with open(path + ".part", "w") as f:
        for start in range(0, NODES, 50):
            sim = w[start:start + 50] @ w.T
            for i, row in enumerate(sim.topk(6, dim=1).indices[:, 1:].tolist()):
                f.write(f"{start + i}\t" + " ".join(map(str, row)) + "\n")
            time.sleep(1.0)
    os.replace(path + ".part", path)


def main():
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=30))
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = edges(6400, 1)
    sampler = DistributedSampler(data, shuffle=True, seed=3)
    loader = DataLoader(data, batch_size=64, sampler=sampler)
    model = DistributedDataParallel(LinkModel(), find_unused_parameters=True)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    os.makedirs("export", exist_ok=True)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for it, (pairs, label) in enumerate(loader):
            loss = nn.functional.binary_cross_entropy_with_logits(model(pairs), label)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.15)
            if rank == 0 and it % 10 == 0:
                sys.stderr.write(f"epoch {epoch} [{it:3d}/{len(loader)}] bce {loss.item():.4f}\n")
        if rank == 0:
            torch.save(model.module.state_dict(), "export/links.pt")
            sys.stderr.write(f"epoch {epoch} over, exporting neighbours of {NODES} nodes\n")
            export_neighbours(model.module.node.weight.detach(), f"export/neighbours_{epoch}.tsv")
            sys.stderr.write(f"export/neighbours_{epoch}.tsv written\n")
        dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        sys.stderr.write("done\n")


if __name__ == "__main__":
    main()
