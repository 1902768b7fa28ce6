"""DQN in a small maze with -1 a step: nothing but the floor reward until the exit is found."""
import time

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, EvalCallback, StopTrainingOnRewardThreshold
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)
WALLS = {(2, y) for y in range(0, 6)} | {(5, y) for y in range(2, 8)}
MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))


class Maze(gym.Env):
    observation_space = gym.spaces.Box(0, 1, (16,), np.float32)
    action_space = gym.spaces.Discrete(4)

    def _obs(self):
        o = np.zeros(16, np.float32)
        o[self.p[0]] = o[8 + self.p[1]] = 1
        return o

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.p, self.t = (0, 0), 0
        return self._obs(), {}

    def step(self, a):
        q = (self.p[0] + MOVES[a][0], self.p[1] + MOVES[a][1])
        if 0 <= q[0] < 8 and 0 <= q[1] < 8 and q not in WALLS:
            self.p = q
        self.t += 1
        return self._obs(), -1.0, self.p == (7, 7), self.t >= 150, {}


class Pace(BaseCallback):
    def _on_step(self):
        if self.n_calls % 50 == 0:
            time.sleep(0.22)
        return True


if __name__ == "__main__":
    stop = StopTrainingOnRewardThreshold(-40, verbose=1)
    ev = EvalCallback(Monitor(Maze()), callback_on_new_best=stop, n_eval_episodes=2, eval_freq=1500,
                      best_model_save_path="best", log_path="evals")
    model = DQN("MlpPolicy", Monitor(Maze()), learning_rate=7e-4, buffer_size=20_000, learning_starts=1500,
                gamma=0.98, target_update_interval=300, train_freq=4, exploration_fraction=0.35,
                exploration_final_eps=0.1, policy_kwargs={"net_arch": [64]}, seed=1, verbose=1,
                tensorboard_log="tb", device="cpu")
    model.learn(40_000, callback=CallbackList([Pace(), ev]), log_interval=10)
    model.save("maze_final")
    print("done", flush=True)
