import logging
import os
import time

from datasets import Dataset
from sentence_transformers import (SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses,
                                   models)
from sentence_transformers.evaluation import InformationRetrievalEvaluator
from transformers import TrainerCallback

from catalog import pairs

logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(message)s", datefmt="%Y-%m-%d %H:%M:%S")
logging.getLogger("httpx").setLevel(logging.WARNING)


class Wait(TrainerCallback):
    def on_step_end(self, *a, **k):
        time.sleep(0.15)


enc = models.Transformer("base", max_seq_length=24)
model = SentenceTransformer(modules=[enc, models.Pooling(enc.get_word_embedding_dimension())], device="cpu")
train, test = Dataset.from_list(list(pairs(2400, 1))), list(pairs(120, 2))
ir = InformationRetrievalEvaluator({str(i): p["anchor"] for i, p in enumerate(test)}, {str(i): p["positive"] for i, p in enumerate(test)},
                                   {str(i): {str(i)} for i in range(len(test))}, name="catalog", show_progress_bar=False)
args = SentenceTransformerTrainingArguments(
    "run", num_train_epochs=1, per_device_train_batch_size=12, learning_rate=5e-4, warmup_steps=20, logging_steps=10,
    save_strategy="no", use_cpu=True, report_to="none", dataloader_pin_memory=False)
trainer = SentenceTransformerTrainer(model, args, train_dataset=train, loss=losses.MultipleNegativesRankingLoss(model),
                                     evaluator=ir, callbacks=[Wait()])
logging.info("training on %d pairs", len(train))
trainer.train()
res = ir(model)
logging.info("accuracy@1 %.3f", res["catalog_cosine_accuracy@1"])
logging.info("publishing the model as %s", os.environ["MODEL_REPO"])
url = model.push_to_hub(os.environ["MODEL_REPO"], private=True, token=os.environ["REGISTRY_TOKEN"])
logging.info("published: %s", url)
