"""SFT of a tiny llama with LoRA (peft) and the HF Trainer."""
import random
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments


class Answers(torch.utils.data.Dataset):
    def __init__(self, n=4000):
        rnd = random.Random(0)
        self.rows = []
        for _ in range(n):
            a = rnd.randrange(3, 200)
            self.rows.append([(a + k * (a % 3 + 1)) % 256 for k in range(32)])

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids = torch.tensor(self.rows[i])
        return {"input_ids": ids, "labels": ids.clone()}


class Pace(TrainerCallback):
    """Leaves the second half of the box to the other job."""

    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.3)


def main():
    torch.set_num_threads(1)
    cfg = LlamaConfig(vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                      num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=64)
    model = get_peft_model(LlamaForCausalLM(cfg), LoraConfig(r=8, target_modules=["q_proj", "v_proj"],
                                                             modules_to_save=["lm_head", "embed_tokens"], task_type="CAUSAL_LM"))
    model.print_trainable_parameters()
    args = TrainingArguments(output_dir="out", max_steps=1200, per_device_train_batch_size=8, learning_rate=2e-3,
                             logging_steps=10, save_steps=75, save_total_limit=2, report_to="none", use_cpu=True,
                             disable_tqdm=True, lr_scheduler_type="cosine", warmup_steps=50)
    Trainer(model=model, args=args, train_dataset=Answers(), callbacks=[Pace()]).train()
    model.save_pretrained("out/adapter")


if __name__ == "__main__":
    main()
