import time
import gymnasium as gym
import numpy as np

HEIGHTS = np.array([4, 6, 8, 11, 15, 20])


class Climb(gym.Env):
    """Walk up a wall; the wall grows whenever the agent has got to the top often enough."""

    def __init__(self, rank):
        self.observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
        self.action_space = gym.spaces.Discrete(3)
        self.rank, self.level, self.tops = rank, 0, 0

    def _obs(self):
        return np.array([self.y / 20, self.wind, self.t / 60], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.height = HEIGHTS[self.level]
        self.y, self.t = 0, 0
        self.wind = float(self.np_random.uniform(-1, 1))
        return self._obs(), {}

    def step(self, action):
        time.sleep(0.012)
        self.t += 1
        self.y = max(0, self.y + int(action) - 1 + (self.np_random.random() < 0.4))
        self.wind = float(np.clip(self.wind + self.np_random.normal(0, 0.1), -1, 1))
        top = self.y >= self.height
        if top:
            self.tops += 1
            if self.tops % (20 + 2 * self.rank) == 0:
                self.level += 1
        return self._obs(), (1.0 if top else -0.01), bool(top), self.t >= 60, {"level": self.level}
