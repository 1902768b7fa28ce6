import time

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor

from cartarm import CartArm

torch.set_num_threads(1)


class Realtime(BaseCallback):
    """The simulator runs at the pace of the real arm."""

    def _on_step(self):
        time.sleep(0.012)
        return True


env = Monitor(CartArm(), "monitor")
model = PPO("MlpPolicy", env, n_steps=256, batch_size=64, n_epochs=4, learning_rate=3e-4, verbose=1, device="cpu", seed=4)
model.learn(20_000, callback=Realtime(), log_interval=1)
model.save("cartarm_ppo")
