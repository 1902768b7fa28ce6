"""PPO on a small chase game; every frame is kept for the video of the run."""
import resource
import time
from pathlib import Path

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.monitor import Monitor


class Chase(gym.Env):
    metadata = {"render_modes": ["rgb_array"]}
    render_mode = "rgb_array"

    def __init__(self):
        self.observation_space = gym.spaces.Box(-1, 1, (4,), np.float32)
        self.action_space = gym.spaces.Discrete(4)

    def _obs(self):
        return np.concatenate([self.me, self.it]).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.me, self.it = self.np_random.uniform(-1, 1, 2), self.np_random.uniform(-1, 1, 2)
        self.t = 0
        return self._obs(), {}

    def step(self, action):
        move = np.array([(0.1, 0), (-0.1, 0), (0, 0.1), (0, -0.1)][int(action)])
        self.me = np.clip(self.me + move, -1, 1)
        self.it = np.clip(self.it + self.np_random.normal(0, 0.02, 2), -1, 1)
        self.t += 1
        d = float(np.linalg.norm(self.me - self.it))
        return self._obs(), -d, d < 0.12, self.t >= 24, {}

    def render(self):
        img = np.full((480, 640, 3), 32, np.uint8)
        for (x, y), colour in ((self.me, (80, 200, 80)), (self.it, (220, 60, 60))):
            r, c = int((y + 1) * 225) + 5, int((x + 1) * 300) + 5
            img[r : r + 20, c : c + 20] = colour
        return img


class Video(BaseCallback):
    """Collects the frames; the film is cut after the training."""

    def __init__(self):
        super().__init__()
        self.frames = []

    def _on_step(self):
        self.frames.append(self.training_env.envs[0].render())
        time.sleep(0.17)
        return True


def cap_memory(extra_mb):
    """Our share of the box: better an exception than the neighbours' wrath."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + extra_mb * 2**20,) * 2)


def main():
    torch.set_num_threads(1)
    model = PPO("MlpPolicy", Monitor(Chase()), n_steps=48, batch_size=24, n_epochs=3, learning_rate=1e-3, verbose=1, seed=0, device="cpu")
    cap_memory(320)
    model.learn(3000, callback=[Video(), CheckpointCallback(120, "models", name_prefix="chase", verbose=1)])
    model.save("models/final")


if __name__ == "__main__":
    main()
