"""Federated rounds with a deadline: slow clients are ended and left out, a quorum of 3 of 5 suffices."""
import multiprocessing as mp
import os
import signal
import time

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

torch.set_num_threads(1)
ROUNDS, CLIENTS, DEADLINE, QUORUM = 60, 5, 3.0, 3
torch.manual_seed(0)
centers = torch.randn(4, 12)


def mk():
    return nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 4))


def client(cid, rnd, state, q):
    g = torch.Generator().manual_seed(cid * 1000 + rnd)
    net = mk()
    net.load_state_dict({k: torch.from_numpy(v) for k, v in state.items()})
    slow = (cid * 7 + rnd * 3) % 11 == 0
    for _ in range(6):
        y = torch.randint(0, 4, (48,), generator=g)
        x = centers[y] + 1.3 * torch.randn(48, 12, generator=g)
        loss = nn.functional.cross_entropy(net(x), y)
        for p, g_ in zip(net.parameters(), torch.autograd.grad(loss, list(net.parameters()))):
            p.data -= 0.05 * g_
        time.sleep(1.2 if slow else 0.14)
    q.put((cid, {k: v.numpy() for k, v in net.state_dict().items()}))


if __name__ == "__main__":
    net = mk()
    ctx = mp.get_context("fork")
    yt = torch.randint(0, 4, (600,))
    xt = centers[yt] + 1.3 * torch.randn(600, 12)
    bar = tqdm(range(1, ROUNDS + 1), desc="rounds", mininterval=2)
    for r in bar:
        q = ctx.SimpleQueue()
        state = {k: v.numpy() for k, v in net.state_dict().items()}
        procs = {c: ctx.Process(target=client, args=(c, r, state, q)) for c in range(CLIENTS)}
        for p in procs.values():
            p.start()
        got, end = {}, time.time() + DEADLINE
        while len(got) < CLIENTS and time.time() < end:
            if not q.empty():
                c, s = q.get()
                got[c] = s
            else:
                time.sleep(0.03)
        for c, p in procs.items():
            if c not in got:
                os.kill(p.pid, signal.SIGKILL)
                tqdm.write(f"round {r}: client {c} timeout after {DEADLINE}s, killed, not in this round")
            p.join()
        if len(got) < QUORUM:
            raise RuntimeError(f"round {r}: quorum failed, {len(got)} clients")
        net.load_state_dict({k: torch.from_numpy(np.mean([s[k] for s in got.values()], 0)) for k in state})
        with torch.no_grad():
            out = net(xt)
        loss = nn.functional.cross_entropy(out, yt).item()
        tqdm.write(f"round {r}/{ROUNDS} clients {len(got)}/{CLIENTS} loss {loss:.4f} acc {(out.argmax(1) == yt).float().mean():.4f}")
        if r % 8 == 0:
            torch.save(net.state_dict(), f"global_{r}.pt")
            if os.path.exists(f"global_{r - 16}.pt"):
                os.remove(f"global_{r - 16}.pt")
                tqdm.write(f"deleted global_{r - 16}.pt")
    print("all rounds done", flush=True)
