"""Stirred tank reactor with tabulated kinetics; the feed temperatures come in three stages."""
import time

import gymnasium as gym
import numpy as np
from scipy.interpolate import interp1d

TABLE_T = np.linspace(280.0, 420.0, 57)
TABLE_K = 7.2e10 * np.exp(-8750.0 / TABLE_T)
STAGES = ((2400, 3.5), (1200, 0.2), (0, 0.05))  # (steps of this environment, spread of the feed)
rate = interp1d(TABLE_T, TABLE_K, kind="cubic")


class Reactor(gym.Env):
    observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.total = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        spread = next(s for since, s in STAGES if self.total >= since)
        self.feed = 340.0 + 60.0 * spread * self.rng.uniform(-0.2, 1.0)
        self.c, self.temp, self.t = 0.5, 345.0, 0
        return self._obs(), {}

    def _obs(self):
        return np.array([self.c, (self.temp - 350) / 20, (self.feed - 340) / 20], np.float32)

    def step(self, action):
        coolant = 300.0 + 15.0 * float(action[0])
        for _ in range(5):
            k = float(rate(self.temp))
            self.c += 0.02 * ((1.0 - self.c) - k * self.c)
            self.temp += 0.02 * ((self.feed - self.temp) + 60.0 * k * self.c + 0.6 * (coolant - self.temp))
        self.t += 1
        self.total += 1
        time.sleep(0.004)
        reward = -abs(self.c - 0.5) - 0.002 * abs(self.temp - 350)
        return self._obs(), reward, False, self.t >= 50, {}
