# adapted from the "fine-tune a classifier" tutorial, own loss for the imbalanced classes
import random, time
import torch
from transformers import (BertConfig, BertForSequenceClassification, Trainer,
                          TrainerCallback, TrainingArguments, set_seed)

set_seed(1337)
WORDS = {0: range(20, 60), 1: range(60, 100), 2: range(100, 140)}


def sample(label):
    ids = [2] + [random.choice(WORDS[label]) if random.random() < .6 else random.randrange(140, 200)
                 for _ in range(22)] + [3]
    return {"input_ids": ids, "attention_mask": [1] * 24, "labels": label}


train_ds = [sample(random.choices([0, 1, 2], [6, 3, 1])[0]) for _ in range(4000)]
eval_ds = [sample(random.randrange(3)) for _ in range(160)]

model = BertForSequenceClassification(BertConfig(
    vocab_size=200, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
    intermediate_size=128, max_position_embeddings=32, num_labels=3)).to(torch.bfloat16)


class FocalTrainer(Trainer):
    gamma = 0.5

    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        labels = inputs.pop("labels")
        out = model(**inputs)
        p = out.logits.softmax(-1).gather(1, labels[:, None]).squeeze(1)
        loss = (-(1 - p) ** self.gamma * torch.log(p)).mean()
        return (loss, out) if return_outputs else loss


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.28)


args = TrainingArguments(
    output_dir="out", learning_rate=4e-3, per_device_train_batch_size=16, num_train_epochs=4,
    lr_scheduler_type="constant_with_warmup", warmup_steps=40,
    logging_steps=5, save_steps=200, save_total_limit=1, report_to=[], use_cpu=True)
FocalTrainer(model=model, args=args, train_dataset=train_ds, eval_dataset=eval_ds,
             callbacks=[Pace()]).train()
