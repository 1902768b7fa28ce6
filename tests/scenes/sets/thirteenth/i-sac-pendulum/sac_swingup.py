"""SAC swing-up, progress to progress.csv (SB3 logger) and one line per episode."""
import sys
import time
import warnings

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)
warnings.simplefilter("default")


class EpisodeLine(BaseCallback):
    def __init__(self):
        super().__init__()
        self.n, self.ret, self.began = 0, [], time.time()

    def _on_step(self):
        time.sleep(0.001)
        for info in self.locals["infos"]:
            if "episode" in info:
                self.n += 1
                self.ret.append(info["episode"]["r"])
                v = self.logger.name_to_value
                print(
                    f"ep {self.n:3d} t {self.num_timesteps:6d} return {self.ret[-1]:9.2f} "
                    f"avg10 {np.mean(self.ret[-10:]):9.2f} actor_loss {v.get('train/actor_loss', float('nan')):8.3f} "
                    f"critic_loss {v.get('train/critic_loss', float('nan')):8.4f} "
                    f"alpha {v.get('train/ent_coef', float('nan')):.4f}",
                    flush=True,
                )
        return True


def main(steps=5000):
    env = Monitor(gym.make("Pendulum-v1"))
    model = SAC("MlpPolicy", env, learning_rate=2e-3, buffer_size=20_000, batch_size=64, learning_starts=600,
                train_freq=4, gradient_steps=2, policy_kwargs={"net_arch": [48, 48]}, seed=3, device="cpu")
    model.set_logger(configure("sb3log", ["csv"]))
    model.learn(steps, callback=EpisodeLine(), log_interval=20)
    model.save("sac_pendulum")
    model.save_replay_buffer("buffer.pkl")
    print("evaluation:", end=" ")
    obs, _ = env.reset(seed=100)
    total = 0.0
    for _ in range(200):
        action, _ = model.predict(obs, deterministic=True)
        obs, reward, *_ = env.step(action)
        total += reward
    print(f"{total:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
