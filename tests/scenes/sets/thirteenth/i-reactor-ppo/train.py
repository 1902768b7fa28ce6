import argparse

import torch
from reactor import Reactor
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import CheckpointCallback
from stable_baselines3.common.vec_env import SubprocVecEnv, VecMonitor


def make(seed):
    return lambda: Reactor(seed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--total", type=int, default=40_000)
    args = parser.parse_args()
    torch.set_num_threads(1)
    env = VecMonitor(SubprocVecEnv([make(i) for i in range(args.workers)]))
    model = PPO("MlpPolicy", env, n_steps=128, batch_size=64, n_epochs=4, verbose=1, device="cpu", seed=0)
    model.learn(args.total, callback=CheckpointCallback(1000, "ckpt", "reactor"), log_interval=1)
    model.save("reactor_final")
