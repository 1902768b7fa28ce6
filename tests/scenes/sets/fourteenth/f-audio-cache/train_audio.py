import time
import torch
from torch import nn
from torch.utils.data import DataLoader
from tqdm import tqdm
from dataset import Clips, FeatureCache

torch.manual_seed(0)
cache = FeatureCache("mel_cache.pkl")
ds = Clips(480, 8, cache)
for i in range(len(ds)):
    cache.get(i, lambda i=i: ds._mel(i))
loader = DataLoader(ds, batch_size=16, shuffle=True, num_workers=2)
model = nn.Sequential(nn.Linear(65, 64), nn.ReLU(), nn.Linear(64, 8))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)

EPOCHS = 40
for epoch in range(1, EPOCHS + 1):
    bar = tqdm(loader, desc=f"Epoch {epoch}/{EPOCHS}")
    correct = n = 0
    for x, y in bar:
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        correct += (out.argmax(1) == y).sum().item()
        n += len(y)
        bar.set_postfix(loss=f"{loss.item():.3f}", acc=f"{correct / n:.3f}")
        time.sleep(0.15)
    torch.save(model.state_dict(), "audio.pt")
    if epoch % 5 == 0:
        tqdm.write("caching features to mel_cache.pkl in background")
        cache.dump_in_background()
        time.sleep(0.05)
