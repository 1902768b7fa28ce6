"""DQN keeps a tank between its marks."""
import os
import time

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)


class Tank(gym.Env):
    """Level between -1 and 1, inflow with slow swings; valve closes, holds, opens. A tenth of a point a tick."""
    observation_space = gym.spaces.Box(-3, 3, (3,), np.float32)
    action_space = gym.spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.h, self.v, self.q, self.t = self.np_random.uniform(-0.3, 0.3), 0.0, 0.0, 0
        return self._obs(), {}

    def _obs(self):
        return np.array([self.h, self.v, self.q], np.float32)

    def step(self, a):
        self.v = 0.06 * (int(a) - 1)
        self.q = 0.95 * self.q + 0.016 * self.np_random.normal()
        self.h += self.q + self.v
        self.t += 1
        return self._obs(), 0.1, bool(abs(self.h) > 1), self.t >= 300, {}


class Lines(BaseCallback):
    def _on_step(self):
        if self.num_timesteps % 100 == 0:
            time.sleep(0.8)
        if self.num_timesteps % 400 == 0 and self.model.ep_info_buffer:
            e = list(self.model.ep_info_buffer)[-15:]
            with torch.no_grad():
                s = self.model.replay_buffer.sample(128).observations
                q = self.model.q_net(s).max(1).values.mean().item()
            print(f"t={self.num_timesteps} return={np.mean([i['r'] for i in e]):.2f} loss={self.loss():.4f} q={q:.2f} "
                  f"eps={self.model.exploration_rate:.2f}", flush=True)
        return True

    def loss(self):
        return float(self.logger.name_to_value.get("train/loss", 0.0))


def main():
    os.makedirs("models", exist_ok=True)
    m = DQN("MlpPolicy", Monitor(Tank()), learning_rate=1e-3, buffer_size=20000, learning_starts=300, batch_size=64, gamma=0.97,
            train_freq=4, target_update_interval=150, exploration_fraction=0.49, exploration_final_eps=0.03, seed=1,
            policy_kwargs={"net_arch": [48, 48]}, device="cpu")
    m.learn(10000, callback=[Lines(), CheckpointCallback(3000, "models", "tank")], log_interval=1000000)
    m.save("models/tank_final")
    print("done", flush=True)


if __name__ == "__main__":
    main()
