"""DQN with a separate actor process: the actor drives, the learner trains from the replay buffer."""
import multiprocessing as mp
import os
import queue
import random
import sys
import time
from collections import deque

import numpy as np
import torch
from torch import nn

from terrain import Rover


def make_net():
    return nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 3))


def actor(transitions, weights, seed):
    # the actor's chatter goes to a file of its own
    sys.stdout = sys.stderr = open("actor.log", "a", buffering=1)
    torch.set_num_threads(1)
    rng = random.Random(seed)
    net, env = make_net(), Rover(seed)
    eps = 0.9
    while True:
        try:
            while True:
                net.load_state_dict({k: torch.from_numpy(v) for k, v in weights.get_nowait().items()})
        except queue.Empty:
            pass
        obs, done, ret = env.reset(), False, 0.0
        while not done:
            if rng.random() < eps:
                a = rng.randrange(3)
            else:
                with torch.no_grad():
                    a = int(net(torch.from_numpy(obs)).argmax())
            nxt, r, done = env.step(a)
            transitions.put((obs, a, r, nxt, done))
            obs, ret = nxt, ret + r
        transitions.put(ret)
        eps = max(0.1, eps * 0.985)
        print(f"episode {env.episodes} slope {env.slope} return {ret:.2f} eps {eps:.2f}")
        time.sleep(0.22)


def main():
    torch.manual_seed(0)
    random.seed(0)
    torch.set_num_threads(1)
    ctx = mp.get_context("fork")
    transitions, weights = ctx.Queue(), ctx.Queue()
    weights.cancel_join_thread()  # nobody needs the last ones
    proc = ctx.Process(target=actor, args=(transitions, weights, 5), daemon=True)
    proc.start()
    net, target = make_net(), make_net()
    target.load_state_dict(net.state_dict())
    opt = torch.optim.Adam(net.parameters(), lr=5e-4)
    buffer, returns = deque(maxlen=20000), deque(maxlen=50)
    frames = episodes = update = 0
    print(f"{'update':>8} {'frames':>8} {'episodes':>8} {'buffer':>8} {'mean_return':>12} {'td_loss':>9} {'q_mean':>8}", flush=True)
    while update < 2200:
        try:
            while True:
                item = transitions.get_nowait()
                if isinstance(item, float):
                    returns.append(item)
                    episodes += 1
                else:
                    buffer.append(item)
                    frames += 1
        except queue.Empty:
            pass
        if len(buffer) < 300:
            time.sleep(0.2)
            continue
        s, a, r, n, d = zip(*random.sample(buffer, 64))
        s, n = torch.from_numpy(np.stack(s)), torch.from_numpy(np.stack(n))
        r, d = torch.tensor(r, dtype=torch.float32), torch.tensor(d, dtype=torch.float32)
        with torch.no_grad():
            goal = r + 0.95 * (1 - d) * target(n).max(1).values
        q = net(s)
        loss = nn.functional.smooth_l1_loss(q.gather(1, torch.tensor(a)[:, None])[:, 0], goal)
        opt.zero_grad()
        loss.backward()
        opt.step()
        update += 1
        time.sleep(0.05)
        if update % 20 == 0:
            weights.put({k: v.numpy().copy() for k, v in net.state_dict().items()})
            mean = sum(returns) / len(returns) if returns else float("nan")
            print(f"{update:8d} {frames:8d} {episodes:8d} {len(buffer):8d} {mean:12.4f} {loss.item():9.5f} {q.mean().item():8.3f}",
                  flush=True)
        if update % 200 == 0:
            target.load_state_dict(net.state_dict())
            torch.save(net.state_dict(), "rover.pt.tmp")
            os.replace("rover.pt.tmp", "rover.pt")
    print("training finished")


if __name__ == "__main__":
    main()
