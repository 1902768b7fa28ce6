"""PPO for the planar gripper. Simulators run as child processes; metrics as JSON lines on stdout."""
import json, os, time
os.environ.setdefault("OMP_NUM_THREADS", "1")
import multiprocessing as mp
import numpy as np
import torch
from torch import nn

N_ENV, HORIZON, UPDATES = 3, 64, 72


def simulator(pipe, seed):
    """A point gripper is to reach a target; reward is minus distance, +5 on a grasp."""
    rng = np.random.default_rng(seed)
    pos, goal, t = rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2), 0
    while True:
        act = pipe.recv()
        if act is None:
            return
        time.sleep(0.004)
        pos = np.clip(pos + 0.15 * np.clip(act, -1, 1) + rng.normal(0, 0.01, 2), -1.5, 1.5)
        t += 1
        dist = float(np.linalg.norm(pos - goal))
        hit, over = dist < 0.12, t >= 40
        obs = np.concatenate([pos, goal - pos])
        if hit or over:
            pos, goal, t = rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2), 0
            obs = np.concatenate([pos, goal - pos])
        pipe.send((obs.astype("float32"), -dist + 5.0 * hit, hit, hit or over))


def mlp(o):
    return nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, o))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(3)
    ctx = mp.get_context("fork")
    pipes, kids = [], []
    for i in range(N_ENV):
        here, there = ctx.Pipe()
        kid = ctx.Process(target=simulator, args=(there, 100 + i), name=f"sim{i}", daemon=True)
        kid.start()
        pipes.append(here)
        kids.append(kid)
    pi, vf, logstd = mlp(2), mlp(1), nn.Parameter(torch.zeros(2) - 0.5)
    opt = torch.optim.Adam([*pi.parameters(), *vf.parameters(), logstd], lr=3e-3)
    obs = torch.zeros(N_ENV, 4)
    print(json.dumps({"event": "start", "envs": N_ENV, "horizon": HORIZON, "updates": UPDATES}), flush=True)
    for update in range(1, UPDATES + 1):
        t0, buf, ends, hits, rets, run = time.time(), [], 0, 0, [], np.zeros(N_ENV)
        for _ in range(HORIZON):
            with torch.no_grad():
                dist = torch.distributions.Normal(pi(obs), logstd.exp())
                act = dist.sample()
                logp, val = dist.log_prob(act).sum(-1), vf(obs)[:, 0]
            for p, a in zip(pipes, act.numpy()):
                p.send(a)
            out = [p.recv() for p in pipes]
            rew = torch.tensor([o[1] for o in out], dtype=torch.float32)
            done = torch.tensor([float(o[3]) for o in out])
            run += rew.numpy()
            for i, o in enumerate(out):
                hits += o[2]
                if o[3]:
                    rets.append(float(run[i]))
                    run[i] = 0
                    ends += 1
            buf.append((obs, act, logp, val, rew, done))
            obs = torch.as_tensor(np.stack([o[0] for o in out]))
        with torch.no_grad():
            nxt = vf(obs)[:, 0]
        adv, gae = [], torch.zeros(N_ENV)
        for o, a, lp, v, r, d in reversed(buf):
            delta = r + 0.97 * nxt * (1 - d) - v
            gae = delta + 0.97 * 0.95 * (1 - d) * gae
            adv.insert(0, gae)
            nxt = v
        O, A, LP, V = (torch.cat([b[k] for b in buf]) for k in range(4))
        ADV = torch.cat(adv)
        R = ADV + V
        ADV = (ADV - ADV.mean()) / (ADV.std() + 1e-8)
        for _ in range(6):
            for idx in torch.randperm(len(O)).split(64):
                dist = torch.distributions.Normal(pi(O[idx]), logstd.exp())
                ratio = (dist.log_prob(A[idx]).sum(-1) - LP[idx]).exp()
                surr = torch.min(ratio * ADV[idx], ratio.clamp(0.8, 1.2) * ADV[idx]).mean()
                vloss = (vf(O[idx])[:, 0] - R[idx]).pow(2).mean()
                loss = -surr + 0.5 * vloss - 0.001 * dist.entropy().sum(-1).mean()
                opt.zero_grad(); loss.backward()
                nn.utils.clip_grad_norm_([*pi.parameters(), *vf.parameters()], 0.5)
                opt.step()
        print(json.dumps({"update": update, "env_steps": update * HORIZON * N_ENV, "ep_return": round(float(np.mean(rets)) if rets else 0.0, 3),
                          "grasp_rate": round(hits / max(ends, 1), 3), "pi_loss": round(-surr.item(), 5), "v_loss": round(vloss.item(), 4),
                          "sps": round(HORIZON * N_ENV / (time.time() - t0), 1)}), flush=True)
        if update % 20 == 0:
            torch.save({"pi": pi.state_dict(), "vf": vf.state_dict()}, f"policy_{update:04d}.pt")
    for p in pipes:
        p.send(None)
    for k in kids:
        k.join()
    print(json.dumps({"event": "end", "grasp_rate": round(hits / max(ends, 1), 3)}), flush=True)


if __name__ == "__main__":
    main()
