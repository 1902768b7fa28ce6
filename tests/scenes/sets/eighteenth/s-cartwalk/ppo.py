import time

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.monitor import Monitor


class Track(gym.Env):
    """Keep a cart near a moving target."""

    observation_space = spaces.Box(-10.0, 10.0, (4,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.v, self.t = 0.0, 0.0, 0
        self.phase = self.np_random.uniform(0, 6.28)
        return self._obs(), {}

    def _obs(self):
        target = 2 * np.sin(self.phase + 0.08 * self.t)
        return np.clip(np.array([self.x, self.v, target, target - self.x]), -10, 10).astype(np.float32)

    def step(self, action):
        self.v = 0.92 * self.v + 0.12 * float(action[0]) + self.np_random.normal(0, 0.02)
        self.x += self.v
        self.t += 1
        obs = self._obs()
        lost = bool(abs(obs[3]) > 5)
        return obs, 1.0 - 0.4 * abs(float(obs[3])) - (5.0 if lost else 0.0), lost, self.t >= 120, {}


class Pace(BaseCallback):
    def _on_step(self):
        time.sleep(0.006)
        return True


def main():
    model = PPO("MlpPolicy", Monitor(Track()), n_steps=512, batch_size=64, n_epochs=4, learning_rate=6e-4, gamma=0.97, seed=3, verbose=1, device="cpu")
    model.learn(4608, callback=[Pace(), CheckpointCallback(2048, "policies", name_prefix="ppo", verbose=1)], log_interval=1)
    model.save("policies/final")
    print("saved policies/final.zip")


if __name__ == "__main__":
    main()
