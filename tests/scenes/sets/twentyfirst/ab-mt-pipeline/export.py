import torch
from safetensors.torch import save_file

save_file(torch.load("finetuned.pt", weights_only=True), "model.safetensors")
print("exported model.safetensors")
