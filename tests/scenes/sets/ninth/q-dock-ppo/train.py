import sys
import time

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv

from dock_env import DockEnv


class Lines(BaseCallback):
    def _on_training_start(self):
        self.n, self.t0 = 0, time.time()

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        self.n += 1
        info = [e["r"] for e in self.model.ep_info_buffer]
        mean = sum(info) / max(1, len(info))
        print(f"rollout {self.n:3d} | ts {self.num_timesteps:6d} | ep_rew_mean {mean:8.3f} | {self.num_timesteps / (time.time() - self.t0):5.1f} fps", flush=True)


def main(total=12_000):
    torch.set_num_threads(1)
    env = make_vec_env(DockEnv, n_envs=2, seed=11, vec_env_cls=SubprocVecEnv, vec_env_kwargs={"start_method": "fork"})
    model = PPO("MlpPolicy", env, n_steps=40, batch_size=40, n_epochs=4, seed=11, device="cpu", verbose=0)
    print(f"PPO, {env.num_envs} simulators, {total} steps planned", flush=True)
    model.learn(total, callback=Lines())
    model.save("dock_ppo")
    env.close()
    print("policy written to dock_ppo.zip")
    return 0


if __name__ == "__main__":
    sys.exit(main())
