"""Policy gradient in a small maze. Old code base: noisy, but it works."""
import logging
import os
import random
import sys
import time
import traceback
import warnings

import torch
from torch import nn

logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("maze")
rng = random.Random(3)
torch.manual_seed(3)
torch.set_num_threads(1)
SIZE, GOAL = 6, (5, 5)


def optional_parts():
    try:
        import flash_maze_kernels  # noqa: F401  the fast simulator, not on this box
    except ImportError:
        log.error("Traceback while importing the compiled simulator, falling back to python\n%s", traceback.format_exc())
    if not torch.cuda.is_available():
        log.critical("CUDA is not available!!! running on CPU")
    try:
        open("/dev/maze-telemetry/socket")
    except OSError as e:
        log.error("telemetry disabled: %r", e)


def old_api(x):
    warnings.warn("maze.old_api is deprecated and will be removed in 0.9; results may be WRONG with float64", DeprecationWarning, stacklevel=2)
    return x


class MazeReset(RuntimeError):
    pass


def rollout(net):
    pos, logps, rewards = (0, 0), [], []
    for t in range(30):
        x = torch.zeros(SIZE * SIZE)
        x[pos[0] * SIZE + pos[1]] = 1
        d = torch.distributions.Categorical(logits=net(old_api(x)))
        a = d.sample()
        logps.append(d.log_prob(a))
        dx, dy = [(0, 1), (1, 0), (0, -1), (-1, 0)][int(a)]
        pos = (min(max(pos[0] + dx, 0), SIZE - 1), min(max(pos[1] + dy, 0), SIZE - 1))
        if rng.random() < 0.0015:
            raise MazeReset("env worker crashed: segmentation fault in physics step (simulated env resets itself)")
        rewards.append(1.0 if pos == GOAL else -0.02)
        if pos == GOAL:
            break
    return torch.stack(logps), rewards


def main():
    warnings.simplefilter("default")
    optional_parts()
    net = nn.Sequential(nn.Linear(SIZE * SIZE, 32), nn.Tanh(), nn.Linear(32, 4))
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    os.makedirs("policies", exist_ok=True)
    ema = -0.6
    for up in range(1, 301):
        loss, rets, broken = 0.0, [], 0
        for _ in range(6):
            try:
                lp, rew = rollout(net)
            except MazeReset:
                broken += 1
                log.exception("rollout failed, episode dropped")
                continue
            rets.append(sum(rew))
            g, disc = 0.0, []
            for r in reversed(rew):
                g = r + 0.97 * g
                disc.insert(0, g)
            loss = loss - (lp * (torch.tensor(disc) - ema)).sum() / 6
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        if norm > 8:
            log.warning("gradient norm %.1f is too large, clipping to 1.0", norm)
        opt.step()
        ema = 0.95 * ema + 0.05 * sum(rets) / max(len(rets), 1)
        time.sleep(0.22)
        if up % 10 == 0:
            log.info("update %d/300 return %.3f (mean %.3f)", up, sum(rets) / max(len(rets), 1), ema)
        if up % 75 == 0:
            torch.save(net.state_dict(), f"policies/maze_{up}.pt")
            try:
                os.rename("policies/latest.pt", "policies/previous.pt")
            except FileNotFoundError as e:
                log.error("could not rotate checkpoint: %s", e)
            torch.save(net.state_dict(), "policies/latest.pt")
    log.info("300 updates done, mean return %.3f", ema)


main()
