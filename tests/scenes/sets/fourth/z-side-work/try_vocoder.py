# does the big vocoder fit? (try on the side, will probably not)
import torch
print("loading vocoder at full width", flush=True)
w = [torch.empty(1 << 46, dtype=torch.float32)]
print("fits")
