import torch

sd = torch.load("model.pt")
print({k: tuple(v.shape) for k, v in sd.items()})
