import time

import gymnasium as gym
import torch
from stable_baselines3 import A2C
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)


class Pace(BaseCallback):
    def _on_step(self):
        time.sleep(0.008)
        return True


def make():
    return Monitor(gym.make("Pendulum-v1"))


if __name__ == "__main__":
    model = A2C("MlpPolicy", make(), n_steps=8, learning_rate=7e-4, gamma=0.9, use_rms_prop=True, seed=5, verbose=1, device="cpu")
    evaluation = EvalCallback(make(), n_eval_episodes=3, eval_freq=1500, best_model_save_path="best", log_path="evals")
    model.learn(5000, callback=[Pace(), evaluation], log_interval=25)
    model.save("a2c_pendulum")
    print("learned 5000 steps, model saved")
