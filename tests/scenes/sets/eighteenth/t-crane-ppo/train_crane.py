import warnings

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.monitor import Monitor

from crane_env import Crane

warnings.filterwarnings("ignore", category=RuntimeWarning)
torch.set_num_threads(1)


class Curriculum(BaseCallback):
    def _on_step(self):
        stage = 1 + (self.num_timesteps > 2048) + (self.num_timesteps > 4096)
        if stage != self.training_env.get_attr("stage")[0]:
            self.training_env.env_method("__setattr__", "stage", stage)
            self.training_env.envs[0].unwrapped.stage = stage
            print(f"[curriculum] t={self.num_timesteps} -> stage {stage}", flush=True)
        return True


env = Monitor(Crane())
model = PPO("MlpPolicy", env, n_steps=256, batch_size=64, n_epochs=3, seed=4, verbose=1, device="cpu")
model.learn(20_000, callback=[Curriculum(), CheckpointCallback(2048, "zoo/crane")], log_interval=2)
model.save("zoo/crane/final")
