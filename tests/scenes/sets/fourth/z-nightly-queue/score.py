import sys, time
import torch
d = torch.load(f"{sys.argv[1]}.pt")
time.sleep(2)
print("score", round(float(d["head"]["weight"].norm()), 4))
