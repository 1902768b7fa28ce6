"""CartPole PPO. SIGTERM 을 받으면 저장하고 143 으로 끝난다."""
import os
import signal
import sys
import time

import gymnasium as gym
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)
TOTAL, STATE = 8960, "ppo_state.zip"
open("pid", "w").write(str(os.getpid()))
stop = False


def on_term(sig, frame):
    global stop
    stop = True


signal.signal(signal.SIGTERM, on_term)


class Slow(gym.Wrapper):
    def step(self, a):
        time.sleep(0.006)
        return self.env.step(a)


class Saver(BaseCallback):
    def _save(self):
        self.model.save("tmp_state.zip")
        os.replace("tmp_state.zip", STATE)

    def _on_step(self):
        if stop:
            self._save()
            print(f"SIGTERM 수신: {self.num_timesteps} 스텝에서 저장 완료, 종료합니다", flush=True)
            sys.exit(143)
        return True

    def _on_rollout_end(self):
        self.n_roll = getattr(self, "n_roll", 0) + 1
        if self.n_roll % 5 == 0:
            self._save()
            print(f"체크포인트 저장: {self.num_timesteps} 스텝", flush=True)


env = Monitor(Slow(gym.make("CartPole-v1")))
if os.path.exists(STATE):
    model = PPO.load(STATE, env=env)
    print(f"{STATE} 에서 재개: {model.num_timesteps} 스텝", flush=True)
else:
    model = PPO("MlpPolicy", env, n_steps=256, batch_size=64, n_epochs=4, learning_rate=1e-3, seed=0, verbose=1)
model.learn(TOTAL - model.num_timesteps, callback=Saver(), reset_num_timesteps=False, log_interval=2)
model.save("ppo_final.zip")
print("학습 완료", flush=True)
