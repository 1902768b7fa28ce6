import json
import time
import urllib.request

import torch
from datasets import Features, IterableDataset, Value
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers

torch.set_num_threads(1)


def pairs():
    port = open("gateway.port").read()
    for n in range(100_000):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/shard/{n}") as reply:
            rows = [json.loads(line) for line in reply.read().splitlines()]
        for row in rows:
            time.sleep(0.012)
            yield row


def tokenizer():
    syl = [a + b for a in "be sil tor mun gra che vol nat".split() for b in "ra to mi len ka dus pol fin".split()]
    tok = Tokenizer(models.WordLevel({w: i for i, w in enumerate(["[UNK]", "[PAD]", *syl])}, unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    return tok


def main():
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer(), embedding_dim=64)], device="cpu")
    args = SentenceTransformerTrainingArguments(
        output_dir="models/static-64", max_steps=1200, per_device_train_batch_size=32, learning_rate=2e-2,
        logging_steps=5, save_steps=200, report_to=[], use_cpu=True, dataloader_pin_memory=False,
        accelerator_config={"dispatch_batches": False})
    data = IterableDataset.from_generator(pairs, features=Features({"anchor": Value("string"), "positive": Value("string")}))
    trainer = SentenceTransformerTrainer(model=model, args=args, train_dataset=data,
                                         loss=MultipleNegativesRankingLoss(model))
    trainer.train()
    model.save_pretrained("models/static-64/final")


main()
