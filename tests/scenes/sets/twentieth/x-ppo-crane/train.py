import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import CheckpointCallback
from stable_baselines3.common.monitor import Monitor

from crane_env import CraneEnv

torch.set_num_threads(1)
env = Monitor(CraneEnv())
model = PPO("MlpPolicy", env, n_steps=64, batch_size=32, n_epochs=4, learning_rate=3e-4, verbose=1, seed=4, device="cpu")
model.learn(20_000, log_interval=1, callback=CheckpointCallback(256, "ckpt", name_prefix="crane"))
model.save("crane_final")
