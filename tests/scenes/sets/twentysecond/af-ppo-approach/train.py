"""PPO for a docking task: approach the station, the port gets narrower with each level."""
import os

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)
LEVEL_EVERY = 6
np.seterr(all="ignore")


class Docking(gym.Env):
    def __init__(self):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (5,), np.float32)
        self.action_space = gym.spaces.Box(-1, 1, (2,), np.float32)
        self.width = 1.0
        self.level = 0

    def _obs(self):
        d = self.pos - self.port
        # a beacon bearing relative to the port's width, as the docking camera gives it
        bearing = d / self.width
        return np.array([*self.pos, *self.vel, np.tanh(bearing[0]) * bearing[1]], np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.pos = self.np_random.uniform(-1, 1, 2)
        self.vel = np.zeros(2)
        self.port = np.zeros(2)
        self.k = 0
        return self._obs(), {}

    def step(self, a):
        self.vel = 0.9 * self.vel + 0.05 * np.asarray(a, float)
        self.pos = np.clip(self.pos + self.vel, -2, 2)
        self.k += 1
        r = -float(np.hypot(*(self.pos - self.port)))
        return self._obs(), r, False, self.k >= 64, {}

    def harder(self):
        self.level += 1
        self.width = max(0.0, self.width - 0.125)
        return self.width


class Levels(BaseCallback):
    def _on_step(self):
        return True

    def _on_rollout_start(self):
        n = self.model._n_updates // self.model.n_epochs
        if n and n % LEVEL_EVERY == 0:
            w = self.training_env.env_method("harder")[0]
            print(f"curriculum: level {n // LEVEL_EVERY}, port width {w:.3f}", flush=True)


class Pace(BaseCallback):
    """the renderer and the physics server take their time"""
    def _on_step(self):
        import time
        time.sleep(0.003)
        return True


env = Monitor(Docking())
model = PPO("MlpPolicy", env, n_steps=256, batch_size=128, n_epochs=2, learning_rate=6e-4, gamma=0.97, verbose=1, seed=4,
            device="cpu")
os.makedirs("models", exist_ok=True)
model.learn(256 * 200, callback=[Levels(), Pace(), CheckpointCallback(256 * 15, "models", verbose=2)], log_interval=1)
model.save("models/final")
print("learning finished")
