import json
import multiprocessing as mp
import os
import time

import numpy as np
import torch
from torch import nn

from selfplay import actor

torch.set_num_threads(1)
PATH = "current.npz"


def publish(net):
    np.savez("next.npz", w=net[0].weight.detach().numpy().T.astype("float32"))
    os.replace("next.npz", PATH)


def main():
    torch.manual_seed(9)
    net = nn.Sequential(nn.Linear(9, 32), nn.Tanh(), nn.Linear(32, 1), nn.Tanh())
    with torch.no_grad():
        net[0].weight.mul_(0.05)
    opt = torch.optim.AdamW(net.parameters(), 1e-2)
    publish(net)
    games = mp.Queue(64)
    for rank in range(3):
        mp.Process(target=actor, args=(rank, games, PATH), name=f"actor-{rank}", daemon=True).start()
    print(json.dumps({"event": "league_started", "actors": 3}), flush=True)
    began, n, lengths = time.time(), 0, []
    for it in range(1, 2000):
        loss_sum = 0.0
        for _ in range(8):
            rank, x, z = games.get()
            n += 1
            lengths.append(len(x))
            loss = ((net(torch.from_numpy(x)).squeeze(-1) - float(z)) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            loss_sum += loss.item()
        time.sleep(0.9)
        publish(net)
        if it % 10 == 0:
            torch.save(net.state_dict(), f"league_{it:04d}.pt")
        print(json.dumps({"event": "iteration", "it": it, "games": n, "value_loss": round(loss_sum / 8, 4),
                          "mean_len": round(float(np.mean(lengths[-8:])), 1), "t": round(time.time() - began, 1)}), flush=True)


if __name__ == "__main__":
    mp.set_start_method("fork")
    main()
