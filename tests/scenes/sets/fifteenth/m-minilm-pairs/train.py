import random, time
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
from sentence_transformers import (SentenceTransformer, SentenceTransformerTrainer,
                                   SentenceTransformerTrainingArguments)
from sentence_transformers import losses, models as st
from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator

WORDS = "red blue green large small chair table lamp sofa wood steel glass desk shelf kitchen garden".split()


def pairs(n, seed):
    rnd = random.Random(seed)
    a, b, s = [], [], []
    for _ in range(n):
        w = rnd.sample(WORDS, 5)
        same = rnd.randint(0, 4)
        a.append(" ".join(w[:4]))
        b.append(" ".join(w[:same] + rnd.sample(WORDS, 4 - same)))
        s.append(same / 4)
    return a, b, s


def build(folder="base"):
    tok = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    tok.train_from_iterator([" ".join(WORDS)], trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]"]))
    PreTrainedTokenizerFast(tokenizer_object=tok, pad_token="[PAD]", unk_token="[UNK]",
                            model_max_length=32).save_pretrained(folder)
    BertModel(BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                         intermediate_size=64, max_position_embeddings=40)).save_pretrained(folder)
    t = st.Transformer(folder, max_seq_length=32)
    return SentenceTransformer(modules=[t, st.Pooling(32)], device="cpu")


class CosineLoss(losses.CosineSimilarityLoss):
    def forward(self, *a, **k):
        time.sleep(0.25)
        return super().forward(*a, **k)


if __name__ == "__main__":
    model = build()
    a, b, s = pairs(1200, 1)
    train = Dataset.from_dict({"sentence1": a, "sentence2": b, "score": s})
    ev = EmbeddingSimilarityEvaluator(*pairs(200, 2), name="shop-dev")
    print("before:", ev(model), flush=True)
    args = SentenceTransformerTrainingArguments(
        output_dir="minilm", num_train_epochs=1, per_device_train_batch_size=8, learning_rate=1e-3,
        warmup_steps=15, logging_steps=10, eval_strategy="steps", eval_steps=50, save_steps=50, save_total_limit=2,
        report_to="none", use_cpu=True)
    SentenceTransformerTrainer(model=model, args=args, train_dataset=train, loss=CosineLoss(model),
                               evaluator=ev).train()
    print("after:", ev(model), flush=True)
    model.save_pretrained("minilm/final")
    print("model saved to minilm/final", flush=True)
