import gymnasium as gym
import numpy as np


class Lift(gym.Env):
    """Bring a lift to a floor and hold it there: down, stop, up."""

    observation_space = gym.spaces.Box(-5, 5, (3,), np.float32)
    action_space = gym.spaces.Discrete(3)
    metadata = {"render_modes": []}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.v, self.t = 0.0, 0.0, 0
        self.goal = float(self.np_random.uniform(-2, 2))
        return self._o(), {}

    def _o(self):
        return np.array([self.x, self.v, self.goal - self.x], np.float32).clip(-5, 5)

    def step(self, a):
        self.v = 0.3 * self.v + 0.15 * (int(a) - 1)
        self.x = float(np.clip(self.x + self.v, -3, 3))
        self.t += 1
        return self._o(), -0.2 * abs(self.x - self.goal), False, self.t >= 40, {}
