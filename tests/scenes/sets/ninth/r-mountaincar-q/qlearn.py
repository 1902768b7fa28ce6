import logging
import time

import gymnasium as gym
import numpy as np

logging.captureWarnings(True)
logging.basicConfig(filename="q.log", level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("q")
STEPS, EVERY, GAMMA = 24_000, 400, 0.995
rng = np.random.default_rng(2)
TILES, BINS = 6, 8
LOW, HIGH = np.array([-1.2, -0.07]), np.array([0.6, 0.07])
offsets = rng.random((TILES, 2)) / BINS


def features(obs):
    """Tile coding: one active cell in each tiling."""
    unit = (obs - LOW) / (HIGH - LOW)
    cell = ((unit + offsets) * BINS).astype(int).clip(0, BINS)
    return np.arange(TILES) * (BINS + 1) ** 2 + cell[:, 0] * (BINS + 1) + cell[:, 1]


def main():
    env = gym.make("MountainCar-v0", max_episode_steps=1000)
    q = np.zeros((TILES * (BINS + 1) ** 2, 3))
    obs, _ = env.reset(seed=0)
    idx, total, episodes = features(obs), 0.0, 0
    window, td = [], []
    eps = 0.1
    for step in range(1, STEPS + 1):
        a = int(rng.integers(3)) if rng.random() < eps else int(q[idx].sum(0).argmax())
        obs, r, term, trunc, _ = env.step(a)
        total += r
        nxt = features(obs)
        target = r if term else r + GAMMA * q[nxt].sum(0).max()
        delta = target - q[idx, a].sum()
        q[idx, a] += 0.4 / TILES * delta
        td.append(delta ** 2)
        idx = nxt
        if term or trunc:
            window.append(total)
            episodes += 1
            obs, _ = env.reset()
            idx, total = features(obs), 0.0
        if step % EVERY == 0:
            log.info("steps=%d episodes=%d ep_rew_mean=%.1f td_loss=%.4f eps=%.2f", step, episodes, np.mean(window),
                     np.mean(td), eps)
            window.clear()
            td.clear()
        if step % 20 == 0:
            time.sleep(0.04)
    np.save("q_table.npy", q)
    log.info("done: %d episodes", episodes)


main()
