import random, time
import torch
from datasets import Dataset
from sentence_transformers import (SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses,
                                   models)
from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator
from transformers import TrainerCallback
from build import build

random.seed(3)
torch.manual_seed(3)
torch.set_num_threads(1)
TOPIC = [("cheap", "inexpensive"), ("fast", "quick"), ("broken", "defective"), ("refund", "money back"), ("late", "delayed"), ("box", "parcel"),
         ("phone", "mobile"), ("help", "support"), ("login", "sign in"), ("failed", "did not work"), ("bill", "invoice"), ("buy", "purchase")]
FILL = "my the order please i was with again your this about is".split()


def pair():
    t = random.sample(TOPIC, 2)
    a = [x[0] for x in t] + random.sample(FILL, 4)
    b = [x[1] for x in t] + random.sample(FILL, 4)
    random.shuffle(a)
    return " ".join(a), " ".join(b)


pairs = [pair() for _ in range(900)]
folder = build([s for p in pairs for s in p])
word = models.Transformer(folder)
model = SentenceTransformer(modules=[word, models.Pooling(64)], device="cpu")
dev = [pair() for _ in range(60)]
other = dev[1:] + dev[:1]
evaluator = EmbeddingSimilarityEvaluator([a for a, _ in dev] * 2, [b for _, b in dev] + [b for _, b in other], [1.0] * 60 + [0.0] * 60, name="dev")


class Pace(TrainerCallback):
    def on_step_end(self, *a, **k):
        time.sleep(0.12)


args = SentenceTransformerTrainingArguments("out-sbert", num_train_epochs=4, per_device_train_batch_size=16, learning_rate=5e-4, warmup_steps=20,
                                            logging_steps=15, eval_strategy="steps", eval_steps=75, save_strategy="steps", save_steps=75,
                                            save_total_limit=1, use_cpu=True, report_to="none", dataloader_pin_memory=False)
trainer = SentenceTransformerTrainer(model=model, args=args, loss=losses.MultipleNegativesRankingLoss(model), evaluator=evaluator,
                                     train_dataset=Dataset.from_dict({"anchor": [a for a, _ in pairs], "positive": [b for _, b in pairs]}),
                                     callbacks=[Pace()])
trainer.train()
model.save_pretrained("out-sbert/final")
print("dev:", evaluator(model))
