"""PPO on CartPole, Stable-Baselines3, learning rate with warm-up."""
import time

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, CheckpointCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
import gymnasium as gym

torch.set_num_threads(1)
TOTAL, PEAK, WARMUP = 120_000, 1e-3, 4_000


def warmup(progress_remaining):
    """linear warm-up to the peak"""
    done = (1.0 - progress_remaining) * TOTAL
    return 1e-4 + PEAK * done / WARMUP


class Evaluate(BaseCallback):
    def __init__(self):
        super().__init__()
        self.env = Monitor(gym.make("CartPole-v1"))
        self.env.reset(seed=99)

    def _on_rollout_end(self):
        time.sleep(0.6)
        if self.num_timesteps % 4096 == 0:
            mean, std = evaluate_policy(self.model, self.env, n_eval_episodes=4)
            print(f"[eval] timesteps={self.num_timesteps} mean_reward={mean:.1f} +/- {std:.1f}", flush=True)

    def _on_step(self):
        return True


if __name__ == "__main__":
    env = make_vec_env("CartPole-v1", n_envs=4, seed=3)
    model = PPO("MlpPolicy", env, n_steps=256, batch_size=256, n_epochs=10, gamma=0.98, gae_lambda=0.8,
                learning_rate=warmup, seed=3, device="cpu", verbose=1)
    model.learn(TOTAL, callback=CallbackList([Evaluate(), CheckpointCallback(5_000, "ckpt", "ppo_pole")]))
    model.save("ppo_pole_final")
