import time

import gymnasium as gym
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

torch.set_num_threads(1)


class Slow(BaseCallback):
    """The real plant answers at 400 Hz for all four simulators together."""

    def _on_step(self):
        if self.n_calls % 8 == 0:
            time.sleep(0.02)
        return True


if __name__ == "__main__":
    env = make_vec_env("Acrobot-v1", n_envs=4, seed=8)
    model = PPO("MlpPolicy", env, n_steps=256, batch_size=256, n_epochs=5, gamma=0.99, gae_lambda=0.94,
                learning_rate=8e-4, ent_coef=0.005, target_kl=0.008, verbose=1, seed=8, device="cpu",
                policy_kwargs={"net_arch": [32, 32]})
    t0 = time.time()
    model.learn(36_000, callback=[Slow(), CheckpointCallback(3000, "ckpt", "acrobot")], log_interval=1)
    print(f"learned {model.num_timesteps} steps in {time.time() - t0:.0f} s")
    mean, std = evaluate_policy(model, gym.make("Acrobot-v1"), n_eval_episodes=10, warn=False)
    print(f"evaluation over 10 episodes: mean_reward={mean:.1f} +/- {std:.1f}")
    model.save("acrobot_final")
