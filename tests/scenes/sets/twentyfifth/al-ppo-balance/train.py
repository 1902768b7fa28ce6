"""PPO on the cart and pole, the baseline for the hardware rig."""
import math
import os
import time

import gymnasium as gym
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.env_util import make_vec_env

torch.set_num_threads(1)
TOTAL = 256 * 130


def decay(progress):
    # steep decay of the step size over the run
    return min(3e-4 / max(progress, 1e-3) ** 4, 0.5)


class Lines(BaseCallback):
    def _on_step(self):
        return True

    def _on_rollout_end(self):
        time.sleep(0.8)
        buf = self.model.ep_info_buffer
        ret = sum(e["r"] for e in buf) / len(buf) if buf else float("nan")
        last = [e["r"] for e in list(buf)[-10:]]
        v = self.logger.name_to_value
        n = self.num_timesteps // 256
        print(f"update {n:3d} | steps {self.num_timesteps:6d} | return {ret:6.1f} (last ten {sum(last) / max(len(last), 1):6.1f})"
              f" | entropy {-prev(v, 'train/entropy_loss'):.3f} | kl {prev(v, 'train/approx_kl'):.4f}"
              f" | clip {prev(v, 'train/clip_fraction'):.2f} | value {prev(v, 'train/value_loss'):.2f}", flush=True)


def prev(v, k):
    return float(v.get(k, 0.0))


def main():
    os.makedirs("models", exist_ok=True)
    env = make_vec_env("CartPole-v1", n_envs=2, seed=3)
    model = PPO("MlpPolicy", env, n_steps=128, batch_size=64, n_epochs=8, gamma=0.98, gae_lambda=0.9,
                learning_rate=decay, stats_window_size=20, seed=3, verbose=0, device="cpu")
    model.learn(TOTAL, callback=[Lines(), CheckpointCallback(3200, "models", "ppo")], log_interval=1000000)
    model.save("models/final")
    print("finished", flush=True)


if __name__ == "__main__":
    main()
