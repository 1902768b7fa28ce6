"""HF Trainer: tiny GPT-2, every 120 steps a slow evaluation that writes whole answers."""
import logging
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("finetune")


class Rows(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        a = torch.randint(0, 128, (n, 1), generator=g)
        self.x = (a + torch.arange(32) * (a % 4 + 1)) % 128

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.x[i]}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.2)


class Tuner(Trainer):
    def evaluate(self, *a, **kw):
        log.info("writing answers to %d prompts for the judge, takes about a minute", len(self.eval_dataset))
        self.model.eval()
        right = 0
        for i in range(len(self.eval_dataset)):
            x = self.eval_dataset[i]["input_ids"]
            with torch.no_grad():
                out = self.model.generate(x[None, :8], max_new_tokens=24, do_sample=False, pad_token_id=0,
                                          attention_mask=torch.ones(1, 8, dtype=torch.long))
            right += (out[0, 8:] == x[8:]).float().mean().item()
            time.sleep(0.6)
        m = {"eval_match": right / len(self.eval_dataset), "epoch": self.state.epoch}
        self.log(m)
        return m


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=64, n_embd=48, n_layer=2, n_head=4,
                                       bos_token_id=0, eos_token_id=None))
    args = TrainingArguments("out", max_steps=240, per_device_train_batch_size=8, learning_rate=3e-3, logging_steps=10,
                             eval_strategy="steps", eval_steps=120, save_steps=60, save_total_limit=2,
                             report_to="none", use_cpu=True, disable_tqdm=True)
    t = Tuner(model=model, args=args, train_dataset=Rows(2000, 0), eval_dataset=Rows(60, 1), callbacks=[Pace()])
    t.train()
    t.save_model("out/final")
    log.info("finished, model in out/final")
