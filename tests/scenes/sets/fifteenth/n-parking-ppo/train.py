import torch
from env import Parking
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import CheckpointCallback
from stable_baselines3.common.monitor import Monitor

torch.set_num_threads(1)
model = PPO(
    "MlpPolicy", Monitor(Parking()), n_steps=128, batch_size=64, n_epochs=4, gamma=0.97,
    learning_rate=1e-3, policy_kwargs=dict(net_arch=[32, 32]), seed=5, verbose=1, device="cpu",
)
model.learn(20_000, callback=CheckpointCallback(1000, "zips", name_prefix="parking"))
model.save("parking_final")
print("saved parking_final.zip")
