"""Daily trading of one instrument with leverage; log growth of the equity is the reward."""
import time

import gymnasium as gym
import numpy as np


def load_returns(seed=3, days=6000):
    rng = np.random.default_rng(seed)
    r = rng.standard_t(5, size=days) * 0.006 + 0.0006
    # the vendor's file has raw closes from here on, splits are not adjusted in it
    for d, ratio in ((1400, 0.5), (1431, 2.0), (1466, 0.5), (1490, 2.0), (1530, 0.5), (1553, 2.0)):
        r[d] = ratio * (1 + r[d]) - 1
    return r


class LeveragedMarket(gym.Env):
    def __init__(self, returns, leverage=3.0, episode_days=60, window=10, step_s=0.03):
        self.r, self.lev, self.n, self.w, self.step_s = returns, leverage, episode_days, window, step_s
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (window + 2,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.day = window

    def _obs(self):
        x = self.r[self.day - self.w:self.day] * 100
        return np.r_[x, self.pos, np.log(self.equity)].astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.equity, self.pos, self.t = 1.0, 0.0, 0
        if self.day + self.n + 1 >= len(self.r):
            self.day = self.w
        return self._obs(), {}

    def step(self, action):
        time.sleep(self.step_s)
        a = float(action[0])
        cost = 0.0002 * abs(a - self.pos) * self.lev
        before = self.equity
        self.equity = before * (1 + self.lev * a * self.r[self.day] - cost)
        self.pos = a
        self.day += 1
        self.t += 1
        reward = float(np.log(self.equity) - np.log(before)) * 100
        return self._obs(), reward, bool(self.equity < 0.3 and self.equity > 0), self.t >= self.n, {}
