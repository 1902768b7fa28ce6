import time

import gymnasium as gym
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)


class Lento(gym.Wrapper):
    """El banco real responde a 40 Hz."""

    def step(self, accion):
        time.sleep(0.025)
        return self.env.step(accion)


def crear():
    return Monitor(Lento(gym.make("Pendulum-v1")))


if __name__ == "__main__":
    print("Entrenando SAC en Pendulum-v1 (la recompensa es negativa: cerca de -1500 al principio, -200 es bueno)", flush=True)
    modelo = SAC("MlpPolicy", crear(), learning_starts=200, train_freq=4, gradient_steps=1, batch_size=64,
                 policy_kwargs=dict(net_arch=[32, 32]), verbose=1, seed=2, device="cpu")
    evaluar = EvalCallback(crear(), eval_freq=600, n_eval_episodes=1, best_model_save_path="mejor", verbose=1)
    modelo.learn(1600, callback=evaluar, log_interval=1)
    modelo.save("sac_pendulo")
    print("Listo: sac_pendulo.zip", flush=True)
