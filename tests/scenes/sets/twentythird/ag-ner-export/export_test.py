"""Exports the last epoch with its id2label and runs the test set through the exported model."""
import json

import torch

from ner_data import LABELS, TAGS, batch, f1
from train_ner import Tagger

id2label = dict(enumerate(sorted(LABELS)))
json.dump(id2label, open("model/config.json", "w"))
net = Tagger(len(id2label))
net.load_state_dict(torch.load("model/epoch6.pt"))
torch.jit.save(torch.jit.trace(net, torch.zeros(1, 16, dtype=torch.long)), "model/export.ts")
print("exported model/export.ts")

model = torch.jit.load("model/export.ts")
names = {int(k): v for k, v in json.load(open("model/config.json")).items()}
x, y = batch(128, torch.Generator().manual_seed(123))
with torch.no_grad():
    pred = [names[int(i)] for i in model(x).argmax(-1).flatten()]
print(f"test (exported model): test_f1 {f1(pred, [TAGS[i] for i in y.flatten()]):.4f} on {x.numel()} tokens")
