import time
from pathlib import Path

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Maze(gym.Env):
    def __init__(self, folder, rank):
        self.files = [Path(folder) / f"maze_{i:03d}.npy" for i in range(64)]
        self.observation_space = spaces.Box(-1, 1, (13,), np.float32)
        self.action_space = spaces.Discrete(4)
        self.draw = np.random.default_rng(rank)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.grid = np.load(self.files[self.draw.integers(64)])
        free = np.argwhere(self.grid == 0)
        self.pos, self.goal = free[self.draw.integers(len(free))], free[self.draw.integers(len(free))]
        self.t = 0
        return self._obs(), {}

    def _obs(self):
        r, c = self.pos
        view = self.grid[r - 1:r + 2, c - 1:c + 2].ravel()
        return np.concatenate([view, self.pos / 10 - 0.5, (self.goal - self.pos) / 10]).astype(np.float32).clip(-1, 1)

    def step(self, action):
        new = self.pos + [(0, 1), (0, -1), (1, 0), (-1, 0)][int(action)]
        before = np.abs(self.goal - self.pos).sum()
        if self.grid[tuple(new)] == 0:
            self.pos = new
        self.t += 1
        time.sleep(0.01)
        done = bool((self.pos == self.goal).all())
        reward = 1.0 if done else 0.1 * float(before - np.abs(self.goal - self.pos).sum()) - 0.02
        return self._obs(), reward, done, self.t >= 60, {}
