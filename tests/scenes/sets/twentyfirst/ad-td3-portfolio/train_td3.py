import numpy as np
import torch
from stable_baselines3 import TD3
from stable_baselines3.common.callbacks import CheckpointCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.noise import NormalActionNoise

from market_env import LeveragedMarket, load_returns

torch.set_num_threads(1)
env = Monitor(LeveragedMarket(load_returns()))
model = TD3(
    "MlpPolicy", env, learning_rate=1e-3, buffer_size=20000, learning_starts=200, batch_size=64,
    action_noise=NormalActionNoise(np.zeros(1), 0.2 * np.ones(1)), train_freq=2, gradient_steps=1,
    policy_kwargs=dict(net_arch=[64, 64]), seed=1, verbose=1,
)
model.learn(total_timesteps=3200, log_interval=2,
            callback=CheckpointCallback(save_freq=400, save_path="ckpt", name_prefix="td3", verbose=1))
model.save("ckpt/td3_final")
print("saved ckpt/td3_final.zip")
