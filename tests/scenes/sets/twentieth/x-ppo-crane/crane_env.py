import json
import subprocess
import sys
import time

import gymnasium as gym
import numpy as np


class CraneEnv(gym.Env):
    def __init__(self):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.action_space = gym.spaces.Box(-1.5, 1.5, (1,), np.float32)
        self.sim = subprocess.Popen(
            [sys.executable, "sim.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.n = 0

    def ask(self, **req):
        self.sim.stdin.write(json.dumps(req) + "\n")
        self.sim.stdin.flush()
        return np.array(json.loads(self.sim.stdout.readline())["s"], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.n = 0
        self.s = self.ask(op="reset")
        return self.s, {}

    def step(self, action):
        self.n += 1
        time.sleep(0.02)
        self.s = self.ask(op="step", force=float(action[0]))
        reward = 1.0 - abs(float(self.s[0])) - 2 * abs(float(self.s[2]))
        return self.s, reward, abs(self.s[0]) > 2.5, self.n >= 100, {}
