import argparse
import time

import gymnasium as gym
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.monitor import Monitor


class Timed(gym.Wrapper):
    def step(self, a):
        time.sleep(0.008)
        return self.env.step(a)


p = argparse.ArgumentParser()
p.add_argument("--steps", type=int, default=4000)
p.add_argument("--seed", type=int, default=1)
a = p.parse_args()
torch.set_num_threads(1)
env = Monitor(Timed(gym.make("CartPole-v1")))
ev = EvalCallback(Monitor(gym.make("CartPole-v1")), n_eval_episodes=3, eval_freq=1000, best_model_save_path="best", verbose=1)
m = DQN("MlpPolicy", env, learning_rate=2e-3, learning_starts=300, train_freq=8, gradient_steps=8, batch_size=64, target_update_interval=200,
        exploration_fraction=0.25, exploration_final_eps=0.04, policy_kwargs=dict(net_arch=[64, 64]), seed=a.seed, verbose=1, device="cpu")
m.learn(a.steps, callback=ev, log_interval=6)
m.save("dqn_cartpole")
print(f"seed {a.seed} done")
