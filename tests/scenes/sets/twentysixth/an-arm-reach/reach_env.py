import json
import subprocess
import sys

import gymnasium as gym
import numpy as np


class ReachEnv(gym.Env):
    """Talks to the arm simulator, which runs as a process of its own."""

    def __init__(self, seed=1, horizon=80):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (8,), np.float32)
        self.action_space = gym.spaces.Box(-1, 1, (2,), np.float32)
        self.horizon = horizon
        self.k = 0
        self.sim = subprocess.Popen([sys.executable, "sim/armsim.py", str(seed)], text=True,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def _ask(self, **m):
        self.sim.stdin.write(json.dumps(m) + "\n")
        self.sim.stdin.flush()
        return json.loads(self.sim.stdout.readline())

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        self.k += 1
        return np.array(self._ask(cmd="reset", k=self.k)["obs"], np.float32), {}

    def step(self, action):
        self.t += 1
        a = self._ask(cmd="step", u=[float(x) for x in action])
        return np.array(a["obs"], np.float32), a["r"], False, self.t >= self.horizon, {}

    def close(self):
        self.sim.stdin.close()
        self.sim.wait(5)
