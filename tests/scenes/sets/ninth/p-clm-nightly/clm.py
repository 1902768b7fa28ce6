import ast
import logging
import pathlib
import time

import torch
from transformers import (LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments,
                          default_data_collator)

logging.basicConfig(filename="log/clm.log", level=logging.INFO, format="%(asctime)s,%(levelname)s,%(message)s")
SEQ = 64
text = pathlib.Path(ast.__file__).read_bytes() + pathlib.Path(logging.__file__).read_bytes()
ids = torch.tensor(list(text)).clamp(max=127)
blocks = [{"input_ids": b, "labels": b} for b in ids[: len(ids) // SEQ * SEQ].view(-1, SEQ)]
split = int(0.95 * len(blocks))


class FileLog(TrainerCallback):
    """One line per log event in log/clm.log."""

    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.1)

    def on_log(self, args, state, control, logs=None, **kw):
        logging.info(";".join([f"step={state.global_step}"] + [f"{k}={v:.5g}" for k, v in logs.items()]))

    def on_save(self, args, state, control, **kw):
        logging.info(f"step={state.global_step};saved")


model = LlamaForCausalLM(LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=160, num_hidden_layers=2,
                                     num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=SEQ,
                                     bos_token_id=0, eos_token_id=0, pad_token_id=0))
args = TrainingArguments("models/nightly", max_steps=420, per_device_train_batch_size=8, per_device_eval_batch_size=16,
                         learning_rate=2e-3, lr_scheduler_type="cosine", warmup_steps=30, weight_decay=0.01, logging_steps=10,
                         eval_strategy="steps", eval_steps=70, save_steps=140, save_total_limit=2, disable_tqdm=True,
                         use_cpu=True, report_to="none", dataloader_pin_memory=False)
trainer = Trainer(model, args, train_dataset=blocks[:split], eval_dataset=blocks[split:], data_collator=default_data_collator,
                  callbacks=[FileLog()])
trainer.train()
trainer.save_model("models/nightly/final")
logging.info("nightly run complete")
