import logging
import sys
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

from sql import split

logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s - %(levelname)s - %(name)s - %(message)s")
torch.set_num_threads(1)
torch.manual_seed(8)
base = GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=64, n_embd=64, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=1))
model = get_peft_model(base, LoraConfig(r=8, lora_alpha=16, target_modules=["c_attn"], modules_to_save=["lm_head", "wte"], task_type="CAUSAL_LM"))
model.print_trainable_parameters()


class Pace(TrainerCallback):
    def on_substep_end(self, *a, **k):
        time.sleep(0.08)

    def on_step_end(self, *a, **k):
        time.sleep(0.08)


args = TrainingArguments(
    output_dir="lora", num_train_epochs=3, per_device_train_batch_size=4, gradient_accumulation_steps=2, per_device_eval_batch_size=16, learning_rate=3e-3,
    logging_steps=10, eval_strategy="steps", eval_steps=60, save_strategy="steps", save_steps=60, save_total_limit=2, load_best_model_at_end=True,
    report_to=[], use_cpu=True, lr_scheduler_type="cosine", warmup_steps=10,
)
trainer = Trainer(model=model, args=args, train_dataset=split(640, 1), eval_dataset=split(96, 2), callbacks=[Pace()])
trainer.train()
logging.info("final evaluation %s", trainer.evaluate())
model.save_pretrained("lora/final")
logging.info("adapter in lora/final")
