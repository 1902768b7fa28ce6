import time
import gymnasium as gym
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, CheckpointCallback, EvalCallback
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)


class Slow(BaseCallback):
    """The simulator of the real thing takes its time."""

    def _on_step(self):
        time.sleep(0.006)
        return True


env = Monitor(gym.make("CartPole-v1"))
ev = Monitor(gym.make("CartPole-v1", max_episode_steps=150))
model = PPO("MlpPolicy", env, n_steps=256, batch_size=64, n_epochs=4, verbose=1, seed=1, device="cpu")
model.learn(3584, callback=CallbackList([
    Slow(),
    EvalCallback(ev, eval_freq=1024, n_eval_episodes=3, best_model_save_path="best", verbose=1),
    CheckpointCallback(1024, "ckpts", name_prefix="ppo", verbose=1),
]))
model.save("final_model")
print("training complete")
