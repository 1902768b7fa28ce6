from pathlib import Path

import torch
from reservoir import Reservoir
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import CheckpointCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

torch.set_num_threads(1)
Path("out").mkdir(exist_ok=True)
env = make_vec_env(Reservoir, n_envs=2, seed=0, monitor_dir="out")
model = PPO("MlpPolicy", env, n_steps=256, batch_size=128, n_epochs=5, learning_rate=1e-3, gae_lambda=0.95, gamma=0.97, verbose=1, seed=0, device="cpu")
model.learn(total_timesteps=14_000, callback=CheckpointCallback(save_freq=2000, save_path="out", name_prefix="ppo", verbose=1))
mean, std = evaluate_policy(model, env, n_eval_episodes=6)
print(f"evaluation: {mean:.1f} +/- {std:.1f} over 6 seasons")
model.save("out/ppo_final")
