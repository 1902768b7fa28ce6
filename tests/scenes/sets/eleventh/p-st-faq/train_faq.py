"""Fine-tune a small sentence encoder on FAQ pairs with CoSENT loss; correlation on a held-out set every 60 steps."""
import random
import time

from datasets import Dataset
from sentence_transformers import (SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses,
                                   models)
from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator
from tokenizers import Tokenizer
from tokenizers import models as tm
from tokenizers import pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, TrainerCallback

rnd = random.Random(17)
SUBJECTS = {s: [f"{s}{k}" for k in range(12)] for s in ("invoice", "login", "shipping", "refund", "warranty", "account")}
FILL = "how can i my the where is why do when".split()
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + FILL + [w for ws in SUBJECTS.values() for w in ws]


def question(s):
    ws = rnd.sample(SUBJECTS[s], 3) + rnd.sample(FILL, 4)
    rnd.shuffle(ws)
    return " ".join(ws)


def rows(n):
    out = {"sentence1": [], "sentence2": [], "score": []}
    for _ in range(n):
        a = rnd.choice(list(SUBJECTS))
        b = a if rnd.random() < 0.5 else rnd.choice(list(SUBJECTS))
        out["sentence1"].append(question(a))
        out["sentence2"].append(question(b))
        out["score"].append(float(a == b))
    return out


class Breathe(TrainerCallback):
    def on_step_end(self, *a, **k):
        time.sleep(0.11)


def encoder():
    t = Tokenizer(tm.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
                            model_max_length=16).save_pretrained("enc0")
    BertModel(BertConfig(vocab_size=len(WORDS), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                         intermediate_size=96, max_position_embeddings=24)).save_pretrained("enc0")
    tr = models.Transformer("enc0")
    return SentenceTransformer(modules=[tr, models.Pooling(48), models.Normalize()], device="cpu")


def main():
    model = encoder()
    dev = rows(160)
    ev = EmbeddingSimilarityEvaluator(dev["sentence1"], dev["sentence2"], dev["score"], name="faq-dev")
    print("before:", ev(model)["faq-dev_spearman_cosine"])
    args = SentenceTransformerTrainingArguments(
        "faq", num_train_epochs=2, per_device_train_batch_size=16, learning_rate=3e-4, eval_strategy="steps", eval_steps=60,
        save_steps=120, save_total_limit=1, logging_steps=15, use_cpu=True, report_to="none", dataloader_pin_memory=False)
    trainer = SentenceTransformerTrainer(model, args, train_dataset=Dataset.from_dict(rows(2400)), loss=losses.CoSENTLoss(model),
                                         evaluator=ev, callbacks=[Breathe()])
    trainer.train()
    print("after:", ev(model)["faq-dev_spearman_cosine"])
    model.save_pretrained("faq/final")


main()
