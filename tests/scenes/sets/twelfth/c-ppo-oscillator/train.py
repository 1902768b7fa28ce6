import torch
from env import Oscillator
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import CheckpointCallback
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)
env = Monitor(Oscillator(), "monitor.csv")
model = PPO("MlpPolicy", env, n_steps=250, batch_size=50, n_epochs=4, learning_rate=3e-4, gamma=0.98, seed=9, verbose=1, device="cpu")
model.learn(40_000, callback=CheckpointCallback(2000, "zips", "osc"), log_interval=1)
model.save("final.zip")
