#!/usr/bin/env python
# coding: utf-8

# # Intent classification for my telegram bot

# In[1]:
import random, time, traceback
import pandas as pd
import torch
from torch import nn
from tqdm.auto import tqdm

# In[2]:
random.seed(1); torch.manual_seed(1)
intents = {"weather": "rain sun cold hot umbrella forecast", "music": "play song album artist louder skip",
           "food": "pizza order hungry menu soup delivery", "time": "clock alarm late early timer wake"}
def sentence(label, extra):
    return " ".join(random.choices(intents[label].split(), k=3) + random.choices(extra, k=3))
filler = [f"tok{i}" for i in range(120)]
labels = list(intents)
df = pd.DataFrame([(sentence(l, filler), l) for l in random.choices(labels, k=1600)], columns=["text", "label"])
test = pd.DataFrame([(sentence(l, filler + ["emoji1", "emoji2"]), l) for l in random.choices(labels, k=320)], columns=["text", "label"])
print(df.head())
print(df.label.value_counts())

# In[4]:
vocab = {w: i for i, w in enumerate(sorted({w for t in df.text for w in t.split()}))}
UNK = len(vocab)
enc = lambda t: [vocab.get(w, UNK) for w in t.split()]
print("vocab size", len(vocab))

# In[7]:
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(len(vocab), 32)
        self.fc = nn.Linear(32, len(labels))
    def forward(self, x):
        return self.fc(self.emb(x))
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)

# In[8]:
def batches(d, bs=16):
    d = d.sample(frac=1)
    for i in range(0, len(d), bs):
        part = d.iloc[i:i + bs]
        yield torch.tensor([enc(t) for t in part.text]), torch.tensor([labels.index(l) for l in part.label])

# In[11]:
def train(epochs=5):
    for ep in range(epochs):
        for x, y in (bar := tqdm(list(batches(df)), desc=f"epoch {ep}")):
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
            bar.set_postfix(loss=loss.item())
            time.sleep(0.25)
        correct = sum((model(x).argmax(1) == y).sum().item() for x, y in batches(test))
        print("test accuracy", correct / len(test))
        torch.save(model.state_dict(), "intents.pt")

# In[12]:
try:
    train()
except Exception:
    traceback.print_exc()

# In[13]:
print("All done! Do not forget to stop the box.")
