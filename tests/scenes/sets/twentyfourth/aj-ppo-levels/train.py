"""PPO with a curriculum: when level 1 is learned, level 2 costs more and is harder. Rewards fall then, and come back."""
import time

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

LEVELS = {1: dict(offset=0.0, cost=1.0), 2: dict(offset=0.7, cost=3.0)}
SWITCH_AT, TOTAL = 11000, 32000


class Track(gym.Env):
    """Keep the cart near the flag; level 2 has a sensor with an offset and a higher cost."""

    level = 1

    def __init__(self):
        self.observation_space = gym.spaces.Box(-3, 3, (3,), np.float32)
        self.action_space = gym.spaces.Discrete(3)

    def _obs(self):
        return np.array([self.x - self.flag - LEVELS[self.lv]["offset"], self.flag, float(self.lv - 1)], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.lv = Track.level
        self.x, self.flag = self.np_random.uniform(-1, 1, 2)
        self.t = 0
        return self._obs(), {}

    def step(self, action):
        p = LEVELS[self.lv]
        self.x = float(np.clip(self.x + (int(action) - 1) * 0.2, -2.0, 2.0))
        self.t += 1
        return self._obs(), 0.3 - p["cost"] * abs(self.x - self.flag), False, self.t >= 32, {}


class Curriculum(BaseCallback):
    def _on_step(self):
        return True

    def _on_rollout_end(self):
        time.sleep(0.55)
        if Track.level == 1 and self.num_timesteps >= SWITCH_AT:
            Track.level = 2
            print(f"curriculum: level 2 from step {self.num_timesteps}; rewards fall for a while", flush=True)
        if self.n_calls % 640 == 0:
            self.model.save(f"ppo_{self.num_timesteps}")
            print(f"saved ppo_{self.num_timesteps}.zip", flush=True)


def main():
    torch.set_num_threads(1)
    env = DummyVecEnv([lambda: Monitor(Track())] * 8)
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=128, n_epochs=4, learning_rate=2e-3, gamma=0.9, ent_coef=0.01, verbose=1, seed=1, device="cpu", stats_window_size=40)
    model.learn(TOTAL, callback=Curriculum(), log_interval=2)
    model.save("ppo_final")
    print("saved ppo_final.zip, done", flush=True)


if __name__ == "__main__":
    main()
