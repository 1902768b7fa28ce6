"""Suchmodell (Bi-Encoder) für den Katalog: trainieren, alle 40 Schritte sichern."""
import logging
import os
import random
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers import models
from sentence_transformers.losses import MultipleNegativesRankingLoss
from tokenizers import Tokenizer, models as tm, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, TrainerCallback

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(message)s", datefmt="%d.%m. %H:%M:%S")
log = logging.getLogger("suche")
torch.set_num_threads(1)
random.seed(4)
WOERTER = [f"w{i}" for i in range(6000)]


def basis(pfad):
    vokabel = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WOERTER])}
    tok = Tokenizer(tm.WordLevel(vokabel, unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tok, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
                            sep_token="[SEP]").save_pretrained(pfad)
    BertModel(BertConfig(vocab_size=len(vokabel), hidden_size=128, num_hidden_layers=1, num_attention_heads=2,
                         intermediate_size=128, max_position_embeddings=64)).save_pretrained(pfad)


class Takt(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.2)

    def on_log(self, args, state, control, logs=None, **kw):
        if "loss" in (logs or {}):
            log.info("Schritt %d von %d: Verlust %s", state.global_step, state.max_steps, logs["loss"])

    def on_save(self, args, state, control, **kw):
        log.info("Sicherung geschrieben: modelle/checkpoint-%d", state.global_step)


basis("basis")
wort = models.Transformer("basis", max_seq_length=16)
modell = SentenceTransformer(modules=[wort, models.Pooling(128)])
paare = [random.sample(WOERTER[:400], 4) for _ in range(4000)]
daten = Dataset.from_dict({"anchor": [" ".join(p[:3]) for p in paare], "positive": [" ".join(p[1:]) for p in paare]})
args = SentenceTransformerTrainingArguments(
    output_dir="modelle", per_device_train_batch_size=16, max_steps=240, learning_rate=2e-3, logging_steps=10,
    save_steps=40, report_to=[], use_cpu=True, disable_tqdm=True)
SentenceTransformerTrainer(model=modell, args=args, train_dataset=daten, loss=MultipleNegativesRankingLoss(modell),
                           callbacks=[Takt()]).train()
modell.save("modelle/fertig")
log.info("fertig")
