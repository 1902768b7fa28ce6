import gymnasium as gym
import numpy as np


class Yard(gym.Env):
    """A robot brings a box to the dock; battery and walls."""

    observation_space = gym.spaces.Box(-1, 1, (6,), np.float32)
    action_space = gym.spaces.Discrete(4)
    MOVES = [(0, 1), (0, -1), (1, 0), (-1, 0)]

    def __init__(self, n=6):
        self.n = n

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.dock = self.np_random.integers(0, self.n, (2, 2))
        self.left = 30
        return self._obs(), {}

    def _obs(self):
        d = (self.dock - self.at) / self.n
        return np.array([*(self.at / self.n), *d, np.abs(d).sum() / 2, self.left / 30], np.float32)

    def step(self, a):
        before = np.abs(self.dock - self.at).sum()
        self.at = np.clip(self.at + self.MOVES[a], 0, self.n - 1)
        self.left -= 1
        gain = 0.3 * (before - np.abs(self.dock - self.at).sum()) - 0.1
        there = bool((self.at == self.dock).all())
        return self._obs(), gain + 5.0 * there, there, self.left <= 0, {}
