import time

import gymnasium as gym
import torch
from stable_baselines3 import A2C
from stable_baselines3.common.callbacks import CheckpointCallback, EvalCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)


class Physics(gym.Wrapper):
    def step(self, action):
        time.sleep(0.007)
        return self.env.step(action)


env = Monitor(Physics(gym.make("CartPole-v1", max_episode_steps=200)))
eval_env = Monitor(gym.make("CartPole-v1", max_episode_steps=200))
model = A2C("MlpPolicy", env, n_steps=16, learning_rate=2e-3, seed=1, verbose=1, device="cpu", policy_kwargs=dict(net_arch=[32]))
model.set_logger(configure("logs", ["stdout", "csv"]))
model.learn(
    total_timesteps=5000, log_interval=20,
    callback=[
        CheckpointCallback(1000, "ckpts", name_prefix="a2c", verbose=1),
        EvalCallback(eval_env, eval_freq=1500, n_eval_episodes=3, best_model_save_path="best", verbose=1),
    ],
)
model.save("a2c_cartpole")
print("done, model written to a2c_cartpole.zip")
