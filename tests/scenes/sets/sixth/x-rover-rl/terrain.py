"""A rover that has to drive up a hill; the hills get a little steeper as the course goes on."""
import numpy as np

COURSE = [round(0.2 + 0.02 * k, 2) for k in range(24)]  # slopes, 10 episodes each


class Rover:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.episodes = 0

    def reset(self):
        self.slope = COURSE[self.episodes // 10]
        self.episodes += 1
        self.pos, self.vel, self.t = 0.0, 0.0, 0
        return self.obs()

    def obs(self):
        return np.array([self.pos, self.vel, self.slope, self.t / 30], dtype="float32")

    def step(self, action):
        force = (-1.0, 0.0, 1.0)[action]
        self.vel = 0.9 * self.vel + 0.12 * force - 0.05 * self.slope + 0.02 * self.rng.normal()
        self.pos += self.vel
        self.t += 1
        return self.obs(), self.pos * 0.1 - 0.01 * abs(force), self.t >= 30
