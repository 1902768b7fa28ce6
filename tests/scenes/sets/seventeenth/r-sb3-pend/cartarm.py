import math

import gymnasium as gym
import numpy as np


class CartArm(gym.Env):
    """Reach a target with an arm on a cart; the further the episode, the closer the targets may lie."""

    def __init__(self, seed=0):
        self.action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (5,), np.float32)
        self.rng = np.random.default_rng(seed)
        self.resets = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.resets += 1
        self.t = 0
        self.tip = np.zeros(2)
        # curriculum: from far to near, on a grid of 5 cm
        far = max(0.0, 1.0 - 0.02 * self.resets)
        self.target = np.round(far * self.rng.uniform(-1, 1, 2) * 20) / 20
        return self._obs(), {}

    def _obs(self):
        d = self.target - self.tip
        r = np.float64(math.hypot(*d))
        return np.array([*d, d[0] / r, d[1] / r, self.t / 50], np.float32)

    def step(self, action):
        self.t += 1
        self.tip = self.tip + 0.05 * np.clip(action, -1, 1)
        d = math.hypot(*(self.target - self.tip))
        return self._obs(), -d, d < 0.05, self.t >= 50, {}
