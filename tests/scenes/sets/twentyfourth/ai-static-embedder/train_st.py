"""sentence-transformers: static embedding model on question pairs, early stopping on the validation loss."""
import random
import time

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.losses import MultipleNegativesRankingLoss
from sentence_transformers.models import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import EarlyStoppingCallback, TrainerCallback

random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)
words = [f"wort{i}" for i in range(400)]
tok = Tokenizer(models.WordLevel({w: i for i, w in enumerate(["[UNK]", *words])}, unk_token="[UNK]"))
tok.pre_tokenizer = pre_tokenizers.Whitespace()


def pairs(n, seed):
    r = random.Random(seed)
    a, b = [], []
    for _ in range(n):
        t = r.randrange(40)
        own = words[t * 10:t * 10 + 10]
        a.append(" ".join(r.choice(own if r.random() < 0.6 else words) for _ in range(6)))
        b.append(" ".join(r.choice(own if r.random() < 0.6 else words) for _ in range(6)))
    return Dataset.from_dict({"anchor": a, "positive": b})


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.25)


model = SentenceTransformer(modules=[StaticEmbedding(tok, embedding_dim=64)], device="cpu")
args = SentenceTransformerTrainingArguments(
    "out", max_steps=3000, per_device_train_batch_size=16, per_device_eval_batch_size=16, learning_rate=3e-2,
    logging_steps=10, eval_strategy="steps", eval_steps=30, save_strategy="steps", save_steps=30, save_total_limit=2,
    load_best_model_at_end=True, metric_for_best_model="eval_loss", report_to="none", use_cpu=True, disable_tqdm=True)
tr = SentenceTransformerTrainer(model=model, args=args, train_dataset=pairs(2000, 1), eval_dataset=pairs(160, 2),
                                loss=MultipleNegativesRankingLoss(model),
                                callbacks=[Pace(), EarlyStoppingCallback(early_stopping_patience=4)])
tr.train()
print(f"best checkpoint: {tr.state.best_model_checkpoint}, eval_loss {tr.state.best_metric:.4f}")
model.save("out/best")
print("stored in out/best")
