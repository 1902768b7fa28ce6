import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Foraging(gym.Env):
    """An animal on a ring of patches: stay and eat (the patch runs down) or pay to move on. Episodes are long."""

    def __init__(self, patches=8, horizon=400):
        self.patches, self.horizon = patches, horizon
        self.observation_space = spaces.Box(0, 5, (3,), np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.food = self.np_random.exponential(1.0, self.patches)
        self.at, self.t, self.stay = 0, 0, 0
        return self._obs(), {}

    def _obs(self):
        return np.array([min(self.food[self.at], 5), min(self.stay / 10, 5), self.t / self.horizon], np.float32)

    def step(self, action):
        self.t += 1
        self.food = self.food + 0.02
        if action == 1:
            self.at, self.stay, r = (self.at + 1) % self.patches, 0, -0.3
            if self.np_random.random() < 0.01:
                r = -25.0  # the hawk
        else:
            r = float(0.3 * self.food[self.at])
            self.food[self.at] *= 0.7
            self.stay += 1
        return self._obs(), r, False, self.t >= self.horizon, {}
