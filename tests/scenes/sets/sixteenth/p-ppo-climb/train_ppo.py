import argparse

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import CheckpointCallback
from stable_baselines3.common.vec_env import SubprocVecEnv, VecMonitor

from climb_env import Climb


def make(rank):
    def _f():
        env = Climb(rank)
        env.reset(seed=100 + rank)
        return env
    return _f


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--timesteps", type=int, default=30000)
    p.add_argument("--n-envs", type=int, default=2)
    a = p.parse_args()
    torch.set_num_threads(1)
    venv = VecMonitor(SubprocVecEnv([make(i) for i in range(a.n_envs)], start_method="fork"))
    model = PPO("MlpPolicy", venv, n_steps=96, batch_size=64, n_epochs=4, ent_coef=0.01, seed=3, verbose=1, device="cpu")
    model.learn(a.timesteps, log_interval=1, callback=CheckpointCallback(500, "models", "climb"))
    model.save("models/climb_final")
    venv.close()
