"""Passage retriever with sentence-transformers; each mining round appends its passage vectors to the index."""
import os
import random
import time

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

rng = random.Random(11)
WORDS = ["[PAD]", "[UNK]"] + [f"w{i}" for i in range(400)]
TOPICS = [rng.sample(WORDS[2:], 12) for _ in range(80)]


def text(t, n=10):
    return " ".join(rng.choice(TOPICS[t]) if rng.random() < 0.55 else rng.choice(WORDS[2:]) for _ in range(n))


def base_model():
    if not os.path.exists("base"):
        tok = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
        tok.pre_tokenizer = pre_tokenizers.Whitespace()
        PreTrainedTokenizerFast(tokenizer_object=tok, pad_token="[PAD]", unk_token="[UNK]",
                                model_max_length=16).save_pretrained("base")
        BertModel(BertConfig(vocab_size=len(WORDS), hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
                             intermediate_size=128, max_position_embeddings=32)).save_pretrained("base")
    t = Transformer("base")
    return SentenceTransformer(modules=[t, Pooling(64, "mean")], device="cpu")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(2)
    model = base_model()
    passages = [(i % 80, text(i % 80)) for i in range(2000)]
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    index = open("passages.f32", "ab", buffering=0)      # all rounds behind one another, the audit wants them
    start = time.time()
    for step in range(1, 421):
        pick = rng.sample(passages, 16)
        q = model(model.preprocess([text(t) for t, _ in pick]))["sentence_embedding"]
        p = model(model.preprocess([x for _, x in pick]))["sentence_embedding"]
        loss = F.cross_entropy(F.normalize(q, dim=-1) @ F.normalize(p, dim=-1).T * 20, torch.arange(16))
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.28)
        if step % 10 == 0:
            print(f"[{time.time() - start:6.1f}s] step {step:4d} mnrl {loss.item():.4f}", flush=True)
        if step % 30 == 0:
            emb = model.encode([x for _, x in passages], batch_size=200, show_progress_bar=False)
            data = memoryview(emb.astype("float32").tobytes())
            while data:
                data = data[index.write(data):]
            print(f"[{time.time() - start:6.1f}s] mined over {len(emb)} passages, index now "
                  f"{os.path.getsize('passages.f32') / 1e6:.2f} MB", flush=True)
            model.save(f"ckpt/step-{step:04d}", create_model_card=False)
    print("finished", flush=True)


if __name__ == "__main__":
    main()
