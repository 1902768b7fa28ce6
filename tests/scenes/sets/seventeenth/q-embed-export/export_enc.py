"""Kalibriert die Skalen je Kanal auf 4000 Beispielen und schreibt int8-Gewichte."""
import os
import time

import numpy as np
import torch

from enc import encoder

torch.set_num_threads(1)
net = encoder()
net.load_state_dict(torch.load("enc.pt"))
os.makedirs("build", exist_ok=True)
print("   Kalibrierung auf 400 Stapeln ...")
top = [torch.zeros(1) for _ in net]
with torch.no_grad():
    for _ in range(400):
        x = torch.randn(10, 256)
        for k, layer in enumerate(net):
            x = layer(x)
            top[k] = torch.maximum(top[k], x.abs().max())
        time.sleep(0.1)
for k, layer in enumerate(net):
    if hasattr(layer, "weight"):
        scale = layer.weight.abs().amax(1, keepdim=True) / 127
        np.savez(f"build/layer{k}.npz", w=(layer.weight / scale).round().to(torch.int8).numpy(), s=scale.detach().numpy(),
                 b=layer.bias.detach().numpy(), top=top[k].numpy())
torch.jit.trace(net, torch.randn(1, 256)).save("build/enc_fp32.ts")
print("   geschrieben:", ", ".join(sorted(os.listdir("build"))))
