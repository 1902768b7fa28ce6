"""Federated averaging by hand: five devices as processes, a quorum of three a round.

Devices drop out as phones do; one that is gone is started anew for the next round.
"""
import multiprocessing as mp
import os
import queue
import random
import time

import torch
from torch import nn

DEVICES, QUORUM, ROUNDS, WAIT = 5, 3, 28, 5.0
DIM, CLASSES = 16, 4


def model():
    return nn.Sequential(nn.Linear(DIM, 24), nn.ReLU(), nn.Linear(24, CLASSES))


def samples(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, CLASSES, (n,), generator=g)
    x = torch.randn(n, DIM, generator=g)
    x[torch.arange(n), y * 3] += 1.5
    return x, y


def device(k, start, inbox, outbox):
    torch.set_num_threads(1)
    luck = random.Random(1000 * k + start)
    x, y = samples(200, 10 + k)
    net = model()
    while True:
        r, state = inbox.get()
        net.load_state_dict({n: torch.tensor(v) for n, v in state.items()})
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        fate = luck.random()
        for i in range(8):
            if fate < 0.09 and i == 5:
                os._exit(9)  # battery empty
            if 0.09 <= fate < 0.16 and i == 5:
                raise ConnectionResetError(104, f"device {k}: link lost in round {r}")
            j = torch.randint(0, 200, (32,))
            loss = nn.functional.cross_entropy(net(x[j]), y[j])
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.3)
        outbox.put((r, k, loss.item(), {n: v.tolist() for n, v in net.state_dict().items()}))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.optim.SGD(model().parameters(), lr=0.1).step()  # load the optimizers' modules once, before the forks
    ctx = mp.get_context("fork")
    outbox, devices, starts = ctx.Queue(), {}, 0
    net = model()
    xt, yt = samples(600, 999)
    for r in range(1, ROUNDS + 1):
        for k in range(DEVICES):
            if k not in devices:
                inbox = ctx.Queue()
                p = ctx.Process(target=device, args=(k, starts, inbox, outbox), name=f"device-{k}", daemon=True)
                p.start()
                devices[k] = (p, inbox)
                starts += 1
        for p, inbox in devices.values():
            inbox.put((r, {n: v.tolist() for n, v in net.state_dict().items()}))
        updates, end = {}, time.time() + WAIT
        while len(updates) < len(devices) and time.time() < end:
            try:
                rr, k, loss, state = outbox.get(timeout=0.3)
                if rr == r:
                    updates[k] = (loss, state)
            except queue.Empty:
                for k, (p, _) in list(devices.items()):
                    if not p.is_alive():
                        print(f"round {r:2d}: device {k} gone (exit code {p.exitcode}), it rejoins next round", flush=True)
                        del devices[k]
        if len(updates) < QUORUM:
            print(f"round {r:2d}: only {len(updates)}/{DEVICES} updates, below the quorum, round repeated with the old model", flush=True)
            continue
        states = [s for _, s in updates.values()]
        net.load_state_dict({n: torch.stack([torch.tensor(s[n]) for s in states]).mean(0) for n in states[0]})
        with torch.no_grad():
            acc = (net(xt).argmax(1) == yt).float().mean().item()
        mean = sum(a for a, _ in updates.values()) / len(updates)
        print(f"round {r:2d}: {len(updates)}/{DEVICES} updates, loss {mean:.4f}, global accuracy {acc:.4f}", flush=True)
        if r % 5 == 0:
            torch.save(net.state_dict(), f"global_{r:03d}.pt")
            print(f"saved global_{r:03d}.pt", flush=True)
    torch.save(net.state_dict(), "global_final.pt")
    print("all rounds done, saved global_final.pt", flush=True)


if __name__ == "__main__":
    main()
