# Fine-tune a (tiny) BERT on my review dump, adapted from the HF course chapter 3
import csv, random, time
import torch
from torch import nn
from torch.utils.data import Dataset, SequentialSampler
from transformers import BertConfig, BertModel, Trainer, TrainingArguments, set_seed

set_seed(7)
VOCAB, MAXLEN = 2000, 24
POS = "great love nice perfect happy good fine sweet works again".split()
NEG = "bad broke waste never poor cheap returned awful slow noisy".split()
FILL = [f"w{i}" for i in range(300)]


def scrape(path="reviews.csv", n=2400):
    rnd = random.Random(3)
    with open(path, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["text", "label"])
        for i in range(n):
            y = rnd.randint(0, 1)
            words = rnd.choices(FILL, k=rnd.randint(6, 16)) + rnd.choices(POS if y else NEG, k=3)
            rnd.shuffle(words)
            # rating without any text
            w.writerow(["" if i in (1013, 1500, 2011) else " ".join(words), y])


def encode(text):
    ids = [2 + (sum(map(ord, t)) * 31 + len(t) * 7) % (VOCAB - 2) for t in text.split()][:MAXLEN]
    mask = [1] * len(ids) + [0] * (MAXLEN - len(ids))
    return ids + [0] * (MAXLEN - len(ids)), mask


class Reviews(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids, mask = encode(self.rows[i]["text"])
        return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask),
                "labels": torch.tensor(int(self.rows[i]["label"]))}


class MeanPoolClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = BertModel(BertConfig(vocab_size=VOCAB, hidden_size=48, num_hidden_layers=2, num_attention_heads=2,
                                         intermediate_size=96, max_position_embeddings=64), add_pooling_layer=False)
        self.head = nn.Linear(48, 2)

    def forward(self, input_ids, attention_mask, labels=None):
        h = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        m = attention_mask.unsqueeze(-1).float()
        pooled = (h * m).sum(1) / m.sum(1)
        logits = self.head(pooled)
        time.sleep(0.22)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class MyTrainer(Trainer):
    def _get_train_sampler(self, *a, **k):
        return SequentialSampler(self.train_dataset)  # csv is shuffled already


scrape()
rows = list(csv.DictReader(open("reviews.csv")))
train, val = rows[:2200], rows[2200:]
print(f"{len(train)} train / {len(val)} val reviews")
args = TrainingArguments(output_dir="out", num_train_epochs=2, per_device_train_batch_size=10,
                         per_device_eval_batch_size=50, learning_rate=1e-3, lr_scheduler_type="cosine", warmup_steps=20,
                         logging_steps=5, eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True,
                         dataloader_pin_memory=False)
def metrics(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}
MyTrainer(model=MeanPoolClassifier(), args=args, train_dataset=Reviews(train), eval_dataset=Reviews(val),
          compute_metrics=metrics).train()
print("done")
