import argparse
import time

import gymnasium as gym
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import CheckpointCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy


class Renderless(gym.Wrapper):
    """CartPole as slow as the real simulator."""

    def step(self, action):
        time.sleep(0.003)
        return self.env.step(action)


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--total", type=int, default=9000)
    ap.add_argument("--envs", type=int, default=2)
    ap.add_argument("--seed", type=int, default=6)
    ap.add_argument("--out", default="runs/pole")
    return ap.parse_args()


def main():
    a = parse()
    torch.set_num_threads(1)
    env = make_vec_env("CartPole-v1", a.envs, seed=a.seed, wrapper_class=Renderless)
    model = PPO("MlpPolicy", env, n_steps=256, batch_size=128, n_epochs=5, seed=a.seed, verbose=1, device="cpu")
    model.learn(a.total, callback=CheckpointCallback(2000, a.out, "pole", verbose=1))
    model.save(f"{a.out}/final")
    mean, std = evaluate_policy(model, gym.make("CartPole-v1"), n_eval_episodes=5)
    print(f"evaluation: {mean:.1f} +/- {std:.1f}")


if __name__ == "__main__":
    main()
