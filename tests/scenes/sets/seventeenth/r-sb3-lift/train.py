import time

import torch
from stable_baselines3 import A2C
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback, EvalCallback
from stable_baselines3.common.monitor import Monitor

from lift_env import Lift

torch.set_num_threads(1)


class Pace(BaseCallback):
    def _on_step(self):
        time.sleep(0.012)
        return True


env = Monitor(Lift())
cbs = [
    Pace(),
    CheckpointCallback(save_freq=1000, save_path="ckpts", name_prefix="lift"),
    EvalCallback(Monitor(Lift()), eval_freq=1000, n_eval_episodes=5, best_model_save_path="best"),
]
model = A2C("MlpPolicy", env, n_steps=8, gamma=0.9, learning_rate=2e-3, verbose=1, seed=1, device="cpu")
model.learn(4000, callback=cbs, log_interval=25)
model.save("lift_final")
print("saved lift_final.zip")
