import os
import sys

import torch
from maze import Maze
from stable_baselines3 import A2C
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import SubprocVecEnv, VecMonitor


class Lines(BaseCallback):
    def _on_step(self):
        if self.n_calls % 100 == 0:
            eps = self.model.ep_info_buffer
            ret = sum(e["r"] for e in eps) / max(len(eps), 1)
            print(f"[a2c] timesteps={self.num_timesteps} episodes={len(eps)} return={ret:.3f}", flush=True)
        if self.n_calls % 500 == 0:
            self.model.save("a2c_maze.zip")
        return True


def make(rank):
    return lambda: Maze(sys.argv[1], rank)


if __name__ == "__main__":
    torch.set_num_threads(1)
    env = VecMonitor(SubprocVecEnv([make(i) for i in range(2)], start_method="fork"))
    model = A2C("MlpPolicy", env, n_steps=16, seed=1, device="cpu")
    print(f"[a2c] pid {os.getpid()}, 2 environments, mazes from {sys.argv[1]}", flush=True)
    model.learn(90_000, callback=Lines())
    env.close()
