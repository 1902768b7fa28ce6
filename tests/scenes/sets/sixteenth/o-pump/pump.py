"""Irrigation pump: keep soil moisture in a band while the weather changes."""
import gymnasium as gym
import numpy as np


class Pump(gym.Env):
    observation_space = gym.spaces.Box(-5.0, 5.0, (4,), np.float32)
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.wet = 0, float(self.np_random.uniform(-1, 1))
        self.heat = float(self.np_random.uniform(0.02, 0.25))
        self.leak = float(self.np_random.random() < 0.1)
        return self._obs(), {}

    def _obs(self):
        return np.array([self.wet, self.heat, self.t / 50, 0.0], np.float32)

    def step(self, action):
        self.t += 1
        rain = 0.4 * float(self.np_random.random() < 0.05)
        self.wet = float(np.clip(self.wet - self.heat - 0.1 * self.leak + 0.12 * action + rain, -5, 5))
        reward = -abs(self.wet) - 0.03 * action - (15.0 if abs(self.wet) > 2.5 else 0.0)
        return self._obs(), reward, abs(self.wet) > 2.5, self.t >= 50, {}
