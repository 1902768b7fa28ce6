import time

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Oscillator(gym.Env):
    """Hold a hardening spring at rest while somebody knocks at it."""

    def __init__(self, dt=0.05, cubic=6.0, horizon=100):
        self.dt, self.cubic, self.horizon = dt, cubic, horizon
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def _obs(self):
        return np.array([self.x, self.v, self.n / self.horizon], dtype=np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.v, self.n = self.np_random.uniform(-0.5, 0.5), 0.0, 0
        return self._obs(), {}

    def step(self, action):
        knock = 0.0
        if self.np_random.random() < 0.05:
            knock = 0.4 * self.np_random.standard_cauchy()
        acc = -self.x - self.cubic * self.x**3 - 0.3 * self.v + 2.0 * float(action[0])
        self.x, self.v = self.x + self.dt * self.v, self.v + self.dt * acc + knock
        self.n += 1
        time.sleep(0.006)
        reward = -min(self.x**2 + 0.1 * self.v**2, 1.0)
        return self._obs(), reward, False, self.n >= self.horizon, {}
