import time

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)


class Reach(gym.Env):
    """Planar arm with two joints; reward is minus the distance in cm."""
    observation_space = gym.spaces.Box(-10, 10, (8,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (2,), np.float32)

    def _obs(self):
        return np.concatenate([np.cos(self.q), np.sin(self.q), self.dq, self.goal]).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.q, self.dq, self.t = self.np_random.uniform(-3, 3, 2), np.zeros(2), 0
        r, a = self.np_random.uniform(0.4, 1.8), self.np_random.uniform(-3, 3)
        self.goal = r * np.array([np.cos(a), np.sin(a)])
        return self._obs(), {}

    def step(self, action):
        self.dq = np.clip(0.9 * self.dq + 0.6 * np.asarray(action), -3, 3)
        self.q, self.t = self.q + 0.05 * self.dq, self.t + 1
        tip = np.array([np.cos(self.q[0]) + np.cos(self.q.sum()), np.sin(self.q[0]) + np.sin(self.q.sum())])
        time.sleep(0.008)
        return self._obs(), -100.0 * float(np.linalg.norm(tip - self.goal)), False, self.t >= 60, {}


env = Monitor(Reach())
model = SAC("MlpPolicy", env, policy_kwargs={"net_arch": [48, 48]}, learning_starts=300, train_freq=4, gradient_steps=1, batch_size=64, seed=0, verbose=1, device="cpu")
model.learn(2400, log_interval=4, callback=EvalCallback(Monitor(Reach()), eval_freq=800, n_eval_episodes=2, best_model_save_path="best"))
model.save("reach_sac")
print("saved reach_sac.zip")
