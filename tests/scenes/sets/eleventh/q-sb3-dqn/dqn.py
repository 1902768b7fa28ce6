import argparse
import logging
import os
import time

import gymnasium as gym
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor

logging.basicConfig(level=logging.INFO, format="%(asctime)s pid=%(process)d %(message)s")
log = logging.getLogger("dqn")


class Progress(BaseCallback):
    def __init__(self, total, every=250):
        super().__init__()
        self.total, self.every = total, every

    def _on_step(self):
        time.sleep(0.007)
        if self.n_calls % self.every == 0:
            ep = list(self.model.ep_info_buffer)[-10:]
            reward = sum(e["r"] for e in ep) / max(1, len(ep))
            log.info("t=%d/%d episodes=%d reward(last 10)=%.1f eps=%.3f loss=%.4f", self.num_timesteps, self.total, self.model._episode_num,
                     reward, self.model.exploration_rate, self.logger.name_to_value.get("train/loss", 0.0))
        return True


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--env", default="CartPole-v1")
    ap.add_argument("--total", type=int, default=6000)
    a = ap.parse_args()
    torch.set_num_threads(1)
    log.info("started in %s: env=%s total=%d", os.path.basename(os.getcwd()), a.env, a.total)
    env = Monitor(gym.make(a.env))
    model = DQN("MlpPolicy", env, learning_rate=1.5e-3, buffer_size=6000, learning_starts=400, batch_size=64, train_freq=8, gradient_steps=4,
                target_update_interval=250, exploration_fraction=0.4, exploration_final_eps=0.04, seed=1, device="cpu")
    model.learn(a.total, callback=Progress(a.total))
    model.save("dqn_agent")
    log.info("finished, agent saved")


if __name__ == "__main__":
    main()
