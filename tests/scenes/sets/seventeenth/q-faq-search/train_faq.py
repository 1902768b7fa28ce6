import os
import random
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers import models
from sentence_transformers.evaluation import InformationRetrievalEvaluator
from sentence_transformers.losses import MultipleNegativesRankingLoss
from tokenizers import Tokenizer, models as tm, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, TrainerCallback

torch.set_num_threads(1)
random.seed(9)
WORDS = [f"term{i}" for i in range(600)]
vocab = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
tok = Tokenizer(tm.WordLevel(vocab, unk_token="[UNK]"))
tok.pre_tokenizer = pre_tokenizers.Whitespace()
PreTrainedTokenizerFast(tokenizer_object=tok, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
                        sep_token="[SEP]").save_pretrained("base")
BertModel(BertConfig(vocab_size=len(vocab), hidden_size=48, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
                     max_position_embeddings=64)).save_pretrained("base")


def faq():
    words = random.sample(WORDS, 6)
    return " ".join(words[:4]), " ".join(words[2:])


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.15)


model = SentenceTransformer(modules=[models.Transformer("base", max_seq_length=16), models.Pooling(48)])
pairs = [faq() for _ in range(1600)]
held = [faq() for _ in range(120)]
check = InformationRetrievalEvaluator({f"q{i}": q for i, (q, _) in enumerate(held)}, {f"d{i}": d for i, (_, d) in enumerate(held)},
                                      {f"q{i}": {f"d{i}"} for i in range(len(held))}, name="faq-dev", show_progress_bar=False)
args = SentenceTransformerTrainingArguments(
    "out", num_train_epochs=3, per_device_train_batch_size=16, learning_rate=3e-3, warmup_steps=20, logging_steps=20,
    eval_strategy="steps", eval_steps=60, save_steps=60, save_total_limit=2, report_to=[], use_cpu=True)
trainer = SentenceTransformerTrainer(
    model=model, args=args, train_dataset=Dataset.from_dict({"question": [a for a, _ in pairs], "answer": [b for _, b in pairs]}),
    loss=MultipleNegativesRankingLoss(model), evaluator=check, callbacks=[Pace()])
trainer.train()
model.save("out/final")
print("final", {k: round(v, 4) for k, v in check(model).items() if "ndcg" in k or "mrr" in k})
