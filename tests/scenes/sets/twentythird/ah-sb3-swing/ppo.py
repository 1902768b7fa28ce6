"""PPO (stable-baselines3) on CartPole with a check on fresh episodes."""
import time

import gymnasium as gym
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, CheckpointCallback, EvalCallback
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)


class Pace(BaseCallback):
    # the simulator on the bench is real time
    def _on_step(self):
        if self.n_calls % 32 == 0:
            time.sleep(0.16)
        return True


env = gym.make("CartPole-v1")
test = Monitor(gym.make("CartPole-v1"))
m = PPO("MlpPolicy", env, n_steps=256, batch_size=64, n_epochs=6, learning_rate=1e-3, verbose=1, seed=3, device="cpu")
m.learn(20000, log_interval=2, callback=CallbackList([
    Pace(), CheckpointCallback(save_freq=4000, save_path="zips", verbose=1),
    EvalCallback(test, eval_freq=2000, n_eval_episodes=5, best_model_save_path="best", verbose=1)]))
m.save("last")
print("learning done", flush=True)
