import logging, random, sys, time
import torch
from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, default_data_collator, set_seed

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO, handlers=[logging.StreamHandler(sys.stdout)])
logger = logging.getLogger(__name__)
set_seed(42)

lines = ["the moon is a silver coin ", "the river sings of rain ", "a lantern in the quiet wood ", "my heart is a wooden train ",
         "and winter walks again ", "the fox is gone by noon "]
rnd = random.Random(0)
text = "".join(rnd.choice(lines) for _ in range(1600))
itos = sorted(set(text))
stoi = {c: i for i, c in enumerate(itos)}
ids = [stoi[c] for c in text]
BLOCK = 32
chunks = [ids[i:i + BLOCK] for i in range(0, len(ids) - BLOCK, BLOCK)]
logger.info("%d blocks of %d tokens", len(chunks), BLOCK)
ds = Dataset.from_dict({"input_ids": chunks, "labels": chunks}).train_test_split(0.1, seed=1)

model = GPT2LMHeadModel(GPT2Config(vocab_size=len(itos), n_positions=64, n_embd=48, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
logger.info("model size: %.2fM params", model.num_parameters() / 1e6)


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.15)

    def on_prediction_step(self, args, state, control, **kw):
        time.sleep(0.1)


args = TrainingArguments(output_dir="gpt2-poems", per_device_train_batch_size=16, per_device_eval_batch_size=16, max_steps=260,
                         learning_rate=2e-3, warmup_steps=20, weight_decay=0.01, logging_steps=10, eval_strategy="steps", eval_steps=65,
                         save_strategy="steps", save_steps=65, save_total_limit=2, load_best_model_at_end=True,
                         use_cpu=True, report_to=[], dataloader_pin_memory=False, seed=42)
trainer = Trainer(model=model, args=args, train_dataset=ds["train"], eval_dataset=ds["test"], data_collator=default_data_collator, callbacks=[Pace()])
result = trainer.train()
trainer.save_model()
trainer.log_metrics("train", result.metrics)
trainer.save_metrics("train", result.metrics)
m = trainer.evaluate()
trainer.log_metrics("eval", m)
logger.info("best checkpoint: %s", trainer.state.best_model_checkpoint)
