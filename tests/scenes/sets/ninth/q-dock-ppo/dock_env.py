import time

import gymnasium as gym
import numpy as np

DT, TOL = 0.05, 1e-9


class DockEnv(gym.Env):
    """A boat that has to come to rest against fenders which get stiffer from berth to berth."""

    observation_space = gym.spaces.Box(-10, 10, (3,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, stiffer=1.085):
        self.k, self.stiffer = 30.0, stiffer

    def _obs(self):
        return np.clip(np.array([self.x, self.v, np.log(self.k) / 10], np.float32), -10, 10)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.v, self.t = self.np_random.uniform(0.5, 1.5), 0.0, 0
        self.k *= self.stiffer
        return self._obs(), {}

    def _implicit(self, force):
        # implicit Euler, solved by fixed-point iteration
        v = self.v
        while True:
            new = self.v + DT * (force - 0.4 * v - self.k * (self.x + DT * v))
            if abs(new - v) < TOL:
                return new
            v = new

    def step(self, action):
        time.sleep(0.02)
        self.v = self._implicit(4.0 * float(action[0]))
        self.x += DT * self.v
        self.t += 1
        return self._obs(), -abs(self.x) - 0.1 * abs(self.v), False, self.t >= 40, {}
