import time

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Reservoir(gym.Env):
    """Release water so that the level stays near its target while the inflow changes with the season."""

    metadata = {"render_modes": []}

    def __init__(self, days=90):
        self.days = days
        self.observation_space = spaces.Box(-2, 2, (4,), np.float32)
        self.action_space = spaces.Discrete(5)

    def _obs(self):
        s = 2 * np.pi * self.day / self.days
        return np.array([self.level - 0.5, self.inflow - 0.1, np.sin(s), np.cos(s)], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.day, self.level, self.inflow = 0, self.np_random.uniform(0.3, 0.7), 0.1
        return self._obs(), {}

    def step(self, action):
        season = 0.1 + 0.06 * np.sin(2 * np.pi * self.day / self.days)
        self.inflow = max(0.0, season + 0.02 * self.np_random.normal())
        self.level = float(np.clip(self.level + self.inflow - 0.05 * int(action), 0, 1))
        self.day += 1
        time.sleep(0.003)
        return self._obs(), 1.0 - 4 * abs(self.level - 0.5), False, self.day >= self.days, {}
