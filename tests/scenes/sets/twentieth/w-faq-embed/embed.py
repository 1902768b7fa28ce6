import logging
import random
import time

import torch
from datasets import Dataset
from sentence_transformers import (LoggingHandler, SentenceTransformer, SentenceTransformerTrainer,
                                   SentenceTransformerTrainingArguments)
from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator
from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers

logging.basicConfig(format="%(asctime)s - %(message)s", datefmt="%Y-%m-%d %H:%M:%S", level=logging.INFO, handlers=[LoggingHandler()])
logging.getLogger("httpx").setLevel(logging.WARNING)
logger = logging.getLogger(__name__)
torch.set_num_threads(1)
random.seed(5)
THEMEN = {t: [f"{t}{i}" for i in range(12)] for t in ("rechnung", "lieferung", "konto", "geraet", "garantie")}


def satz(thema):
    return " ".join(random.choices(THEMEN[thema], k=6))


def paare(n):
    zeilen = {"sentence1": [], "sentence2": [], "score": []}
    for _ in range(n):
        a, b = random.choice(list(THEMEN)), random.choice(list(THEMEN))
        if random.random() < 0.5:
            b = a
        zeilen["sentence1"].append(satz(a))
        zeilen["sentence2"].append(satz(b))
        zeilen["score"].append(random.uniform(0.7, 1.0) if a == b else random.uniform(0.0, 0.3))
    return zeilen


class Trainer(SentenceTransformerTrainer):
    def training_step(self, *args, **kwargs):
        time.sleep(0.22)
        return super().training_step(*args, **kwargs)


def main():
    tok = Tokenizer(models.WordLevel({w: i for i, w in enumerate(["[UNK]"] + sum(THEMEN.values(), []))}, unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    model = SentenceTransformer(modules=[StaticEmbedding(tok, embedding_dim=48)], device="cpu")
    dev = paare(200)
    evaluator = EmbeddingSimilarityEvaluator(dev["sentence1"], dev["sentence2"], dev["score"], name="faq-dev")
    logger.info("Vor dem Training: %s", evaluator(model))
    args = SentenceTransformerTrainingArguments(
        output_dir="modell", num_train_epochs=2, per_device_train_batch_size=16, learning_rate=5e-2, logging_steps=10,
        eval_strategy="steps", eval_steps=40, save_steps=80, save_total_limit=1, report_to=[], use_cpu=True,
        disable_tqdm=True, dataloader_pin_memory=False)
    trainer = Trainer(model=model, args=args, train_dataset=Dataset.from_dict(paare(1280)), loss=CosineSimilarityLoss(model),
                      evaluator=evaluator)
    trainer.train()
    model.save_pretrained("modell/final")
    logger.info("Modell gespeichert, Ergebnis: %s", evaluator(model))


main()
