import time

import gymnasium as gym
import numpy as np


class Parking(gym.Env):
    """A point car on a line of 2D; stop at the bay. Observation: offset, heading, speed."""

    def __init__(self, stage_at=1400):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (5,), np.float32)
        self.action_space = gym.spaces.Discrete(5)
        self.stage_at, self.total, self.stage = stage_at, 0, 1

    def _obs(self):
        speed = np.linalg.norm(self.vel)
        heading = self.vel / speed
        return np.concatenate([self.pos, heading, [speed]]).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.pos = self.np_random.uniform(-1, 1, 2)
        self.vel = self.np_random.uniform(-0.1, 0.1, 2)
        self.t = 0
        return self._obs(), {}

    def step(self, action):
        self.total += 1
        if self.total == self.stage_at:
            self.stage = 2
            print("[env] curriculum: stage 2, walls and bays", flush=True)
        self.t += 1
        push = np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)])[action]
        self.vel = 0.9 * self.vel + 0.03 * push
        self.pos = self.pos + self.vel
        if self.stage == 2:
            # the car stands when it is in a bay, or against a corner
            inside = np.abs(self.pos) < 0.12
            self.vel = np.where(inside | (np.abs(self.pos) > 1.5), 0.0, self.vel)
        time.sleep(0.009)
        dist = float(np.linalg.norm(self.pos))
        return self._obs(), -dist, dist < 0.05, self.t >= 60, {}
