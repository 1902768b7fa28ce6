import time
import gymnasium as gym
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback, EvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy


class Sleepy(BaseCallback):
    # my laptop cpu share is limited
    def _on_step(self):
        time.sleep(0.015)
        return True


env = make_vec_env("CartPole-v1", n_envs=4, seed=0)
model = PPO("MlpPolicy", env, n_steps=128, batch_size=128, n_epochs=6, learning_rate=1e-3, verbose=1, seed=0, device="cpu")
model.learn(10_000, callback=[Sleepy(), CheckpointCallback(1000, "ckpt", verbose=1),
                              EvalCallback(make_vec_env("CartPole-v1", n_envs=1, seed=9), eval_freq=800, n_eval_episodes=3, verbose=1)])
model.save("ppo_cartpole")
mean, std = evaluate_policy(model, gym.make("CartPole-v1"), n_eval_episodes=4)
print(f"mean_reward={mean:.2f} +/- {std:.2f}")
