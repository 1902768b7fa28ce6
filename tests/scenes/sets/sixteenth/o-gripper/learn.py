import time

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.vec_env import SubprocVecEnv, VecMonitor

from gripper import Gripper


class RealTime(BaseCallback):
    """The controller runs at 40 Hz."""

    def _on_step(self):
        time.sleep(0.025)
        return True


if __name__ == "__main__":
    torch.set_num_threads(1)
    env = VecMonitor(SubprocVecEnv([lambda s=s: Gripper(s) for s in range(2)], start_method="fork"))
    model = PPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=4, verbose=1, seed=1, device="cpu")
    model.learn(20000, callback=[RealTime(), CheckpointCallback(1000, "ckpt")])
    model.save("gripper_final")
