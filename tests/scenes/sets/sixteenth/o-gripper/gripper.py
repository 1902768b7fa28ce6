"""Two-finger gripper on a compliant object; contact forces from a small linear system."""
import gymnasium as gym
import numpy as np


class Gripper(gym.Env):
    observation_space = gym.spaces.Box(-np.inf, np.inf, (6,), np.float64)
    action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float64)

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.episodes = 0

    def reset(self, *, seed=None, options=None):
        self.episodes += 1
        self.t = 0
        self.pos = self.rng.uniform(0.2, 0.4, 2)
        self.vel = np.zeros(2)
        # domain randomisation: the object gets softer as the curriculum goes on
        self.stiff = max(0.0, 1.0 - self.episodes / 45.0)
        return self._obs(np.zeros(2)), {}

    def _obs(self, force):
        return np.concatenate([self.pos, self.vel, force])

    def step(self, action):
        self.t += 1
        coupling = np.array([[self.stiff, -0.5 * self.stiff], [-0.5 * self.stiff, self.stiff]])
        force = np.linalg.solve(coupling, 0.02 * (0.5 - self.pos)) * self.stiff
        self.vel = 0.8 * self.vel + 0.05 * action + 0.05 * force
        self.pos = np.clip(self.pos + self.vel, 0.0, 1.0)
        reward = 1.0 - 4.0 * float(np.abs(self.pos - 0.5).sum()) - 0.05 * float((action ** 2).sum())
        return self._obs(force), reward, False, self.t >= 40, {}
