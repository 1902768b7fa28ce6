import sys
import time

import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback
from stable_baselines3.common.monitor import Monitor

from pump import Pump

torch.set_num_threads(1)


class Field(BaseCallback):
    """One control step of the field station simulator."""

    def _on_step(self):
        time.sleep(0.012)
        return True


model = DQN("MlpPolicy", Monitor(Pump()), learning_rate=2e-3, buffer_size=5000, learning_starts=300, train_freq=4, target_update_interval=250,
            exploration_fraction=0.6, exploration_final_eps=0.05, verbose=1, seed=6, device="cpu")
model.learn(5000, log_interval=20, callback=[Field(), EvalCallback(Monitor(Pump()), eval_freq=1000, n_eval_episodes=5, best_model_save_path="best", verbose=1)])
model.save("pump_dqn")
print("policy saved to pump_dqn.zip", file=sys.stderr)
