"""Glossary search: bi-encoder from scratch, then the whole corpus is encoded for the index."""
import os
import random
import time

import torch
from sentence_transformers import SentenceTransformer, losses, models, InputExample
from torch.utils.data import DataLoader
from transformers import BertConfig, BertModel, BertTokenizer

torch.set_num_threads(1)
random.seed(0)
torch.manual_seed(0)
WORDS = "valve pump rotor blade shaft seal gasket bolt flange motor cable relay fuse sensor filter".split()
os.makedirs("base", exist_ok=True)
with open("base/vocab.txt", "w") as f:
    f.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "of", "the", "part", "what", "is"] + WORDS))
BertTokenizer("base/vocab.txt").save_pretrained("base")
BertModel(BertConfig(vocab_size=25, hidden_size=48, num_hidden_layers=1, num_attention_heads=4, intermediate_size=96,
                     max_position_embeddings=32)).save_pretrained("base")
word = models.Transformer("base", max_seq_length=16)
model = SentenceTransformer(modules=[word, models.Pooling(48)], device="cpu")
loss_fn = losses.MultipleNegativesRankingLoss(model)


def pair():
    a, b = random.sample(WORDS, 2)
    return InputExample(texts=[f"what is the {a} of the {b}", f"part {b} {a}"])


loader = DataLoader([pair() for _ in range(1600)], batch_size=8, shuffle=True, collate_fn=model.smart_batching_collate)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for n, (feats, labels) in enumerate(loader, 1):
    loss = loss_fn(feats, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.25)
    if n % 10 == 0:
        print(f"{time.strftime('%H:%M:%S')} step {n}/{len(loader)} mnr loss {loss.item():.4f}", flush=True)
model.save("embedder")
print(f"{time.strftime('%H:%M:%S')} saved embedder/, encoding the corpus (900 entries, this takes a minute)", flush=True)
index = []
for k in range(90):
    index.append(model.encode([f"part {random.choice(WORDS)} {random.choice(WORDS)}" for _ in range(10)],
                              convert_to_tensor=True, show_progress_bar=False))
    time.sleep(0.5)
torch.save(torch.cat(index), "index.pt")
print(f"{time.strftime('%H:%M:%S')} index.pt written, {len(index) * 10} entries", flush=True)
