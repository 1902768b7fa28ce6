import time

import gymnasium as gym
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback, EvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)


class Slow(gym.Wrapper):
    """The real cart answers over a serial line."""

    def step(self, action):
        time.sleep(0.002)
        return self.env.step(action)


def make():
    return Slow(gym.make("CartPole-v1"))


class Rate(BaseCallback):
    def _on_step(self):
        return True

    def _on_rollout_end(self):
        if self.num_timesteps % 2048 == 0:
            print(f">> {self.num_timesteps} steps, lr {self.model.learning_rate:.1e}", flush=True)


if __name__ == "__main__":
    env = make_vec_env(make, n_envs=4, seed=1)
    model = PPO("MlpPolicy", env, n_steps=128, batch_size=128, n_epochs=4, gae_lambda=0.98, gamma=0.98,
                learning_rate=1e-3, verbose=1, seed=1, device="cpu")
    model.learn(
        12000,
        callback=[Rate(),
                  CheckpointCallback(save_freq=512, save_path="models", name_prefix="cart"),
                  EvalCallback(Monitor(make()), eval_freq=1024, n_eval_episodes=2, best_model_save_path="best")],
    )
    model.save("cart_final")
    print("saved cart_final.zip")
