"""Policy gradient on a home-made balancing task, four environments in processes of their own."""
import math, multiprocessing as mp, os, random, time
import torch
import torch.nn as nn

N = 4


class Balance:
    def reset(self):
        self.s = [random.uniform(-0.05, 0.05) for _ in range(4)]
        self.t = 0
        return list(self.s)

    def step(self, act):
        x, v, th, w = self.s
        f = 10.0 if act else -10.0
        tmp = (f + 0.05 * w * w * math.sin(th)) / 1.1
        thacc = (9.8 * math.sin(th) - math.cos(th) * tmp) / (0.5 * (4 / 3 - 0.1 * math.cos(th) ** 2 / 1.1))
        xacc = tmp - 0.05 * thacc * math.cos(th) / 1.1
        self.s = [x + 0.02 * v, v + 0.02 * xacc, th + 0.02 * w, w + 0.02 * thacc]
        self.t += 1
        done = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.21 or self.t >= 200
        return list(self.s), 1.0, done


def env_worker(k, conn):
    random.seed(k)
    with open(f"env_{k}.pid", "w") as f:
        f.write(str(os.getpid()))
    parent = os.getppid()
    env = Balance()
    while True:
        while not conn.poll(2):
            if os.getppid() != parent:
                return
        cmd, arg = conn.recv()
        time.sleep(0.001)
        conn.send(env.reset() if cmd == "reset" else env.step(arg))


def main():
    ctx = mp.get_context("fork")
    pipes = [ctx.Pipe() for _ in range(N)]
    procs = [ctx.Process(target=env_worker, args=(k, pipes[k][1]), daemon=True) for k in range(N)]
    for p in procs:
        p.start()
    conns = [a for a, _ in pipes]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    pi = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    opt = torch.optim.Adam(pi.parameters(), lr=5e-3)
    for c in conns:
        c.send(("reset", None))
    obs = [c.recv() for c in conns]
    ep = [0.0] * N
    returns = []
    for it in range(1, 400):
        logps, rews, dones = [], [], []
        for _ in range(100):
            dist = torch.distributions.Categorical(logits=pi(torch.tensor(obs)))
            act = dist.sample()
            logps.append(dist.log_prob(act))
            for c, a in zip(conns, act.tolist()):
                c.send(("step", a))
            rew, don = [], []
            for k, c in enumerate(conns):
                o, r, d = c.recv()
                ep[k] += r
                if d:
                    returns.append(ep[k])
                    ep[k] = 0.0
                    c.send(("reset", None))
                    o = c.recv()
                obs[k] = o
                rew.append(r)
                don.append(d)
            rews.append(rew)
            dones.append(don)
        g, out = torch.zeros(N), []
        for r, d in zip(reversed(rews), reversed(dones)):
            g = torch.tensor(r) + 0.97 * g * (~torch.tensor(d)).float()
            out.append(g)
        ret = torch.stack(out[::-1])
        adv = (ret - ret.mean()) / (ret.std() + 1e-6)
        loss = -(torch.stack(logps) * adv).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"iter {it:3d} | pg_loss {loss.item():+.4f} | mean_return(20) {sum(returns[-20:]) / max(1, len(returns[-20:])):.1f} "
              f"| episodes {len(returns)}", flush=True)


if __name__ == "__main__":
    main()
