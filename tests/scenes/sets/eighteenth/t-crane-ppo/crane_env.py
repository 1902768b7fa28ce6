import time

import gymnasium as gym
import numpy as np

# spring constant of the cable in N/m per kg of load
CABLES = {1: [40.0, 60.0], 2: [40.0, 60.0, 120.0, 400.0], 3: [40.0, 60.0, 120.0, 400.0, 52000.0]}


class Crane(gym.Env):
    """Trolley with an elastic cable; explicit Euler at 50 Hz like the PLC."""

    def __init__(self):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (5,), np.float32)
        self.action_space = gym.spaces.Box(-1, 1, (1,), np.float32)
        self.stage, self.dt = 1, 0.02

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.k = float(self.np_random.choice(CABLES[self.stage]))
        self.s = self.np_random.normal(0, 0.1, 4)  # trolley x, v, load stretch z, w
        self.t, self.goal = 0, self.np_random.uniform(-1, 1)
        return self._obs(), {}

    def _obs(self):
        return np.append(self.s, self.goal).astype(np.float32)

    def step(self, action):
        x, v, z, w = self.s
        a = 4.0 * float(action[0]) - 0.8 * v
        acc = -self.k * z - 0.6 * w - a
        self.s = np.array([x + self.dt * v, v + self.dt * a, z + self.dt * w, w + self.dt * acc])
        self.t += 1
        time.sleep(0.004)
        cost = abs(self.s[0] - self.goal) + 0.1 * min(abs(self.s[2]), 5.0)
        return self._obs(), -float(cost), False, self.t >= 120, {}
