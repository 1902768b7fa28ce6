"""DQN on a home-made cliff walk. The TD loss says little; watch the mean return instead."""
import time

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)


class Cliff(gym.Env):
    """a 4 x 8 grid, falling off the cliff costs 100 and puts the walker back"""
    observation_space = gym.spaces.Box(0, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(4)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.r, self.c, self.k = 3, 0, 0
        return self._o(), {}

    def _o(self):
        return np.array([self.r / 3, self.c / 7], np.float32)

    def step(self, a):
        dr, dc = [(-1, 0), (0, 1), (1, 0), (0, -1)][int(a)]
        self.r, self.c = min(3, max(0, self.r + dr)), min(7, max(0, self.c + dc))
        self.k += 1
        reward, done = -1.0, False
        if self.r == 3 and 0 < self.c < 7:
            reward, self.r, self.c = -100.0, 3, 0
        elif self.r == 3 and self.c == 7:
            done = True
        return self._o(), reward, done, self.k >= 50, {}


class Pace(BaseCallback):
    def _on_step(self):
        time.sleep(0.012)
        return True


model = DQN("MlpPolicy", Monitor(Cliff()), learning_rate=1e-3, learning_starts=400, target_update_interval=250, train_freq=4,
            exploration_fraction=0.5, exploration_final_eps=0.05, verbose=1, seed=2, device="cpu",
            policy_kwargs={"net_arch": [32, 32]})
model.learn(6500, log_interval=6, callback=[Pace(), CheckpointCallback(1000, "models", verbose=2)])
model.save("models/dqn_final")
print("done: models/dqn_final.zip")
