import time

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments, set_seed


class Stored(torch.utils.data.Dataset):
    """Sentences with the logits of the teacher, sorted by length as they were exported."""

    def __init__(self, n=4800):
        g = torch.Generator().manual_seed(3)
        self.ids = torch.randint(5, 300, (n, 20), generator=g)
        self.y = (self.ids[:, 0] > 150).long() + (self.ids[:, 1] > 150).long()
        scale = torch.linspace(2.0, 14.0, n) ** 2.4
        self.logits = torch.nn.functional.one_hot(self.y, 3).float() * scale[:, None] + torch.randn(n, 3, generator=g)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.y[i], "teacher": self.logits[i]}


class Distiller(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        teacher = inputs.pop("teacher")
        out = model(**inputs)
        t = torch.softmax(teacher, -1)
        log_s = torch.log_softmax(out.logits, -1)
        kl = (t * (t.log() - log_s)).sum(-1)
        hard = 1 - torch.exp(-kl)  # what is still hard counts more
        loss = 0.5 * out.loss + 0.5 * (hard * kl).mean()
        return (loss, out) if return_outputs else loss

    def _get_train_sampler(self, *a, **k):
        return torch.utils.data.SequentialSampler(self.train_dataset)


class Pace(TrainerCallback):
    def on_step_end(self, *a, **k):
        time.sleep(0.13)


def main():
    set_seed(0)
    torch.set_num_threads(1)
    model = BertForSequenceClassification(
        BertConfig(vocab_size=300, hidden_size=48, num_hidden_layers=2, num_attention_heads=2, intermediate_size=96, max_position_embeddings=32, num_labels=3)
    )
    args = TrainingArguments(
        output_dir="student", num_train_epochs=3, per_device_train_batch_size=8, learning_rate=5e-4, logging_steps=10,
        save_steps=400, save_total_limit=2, report_to="none", use_cpu=True, disable_tqdm=True, remove_unused_columns=False, dataloader_pin_memory=False,
    )
    Distiller(model=model, args=args, train_dataset=Stored(), callbacks=[Pace()]).train()
    model.save_pretrained("student/final")


if __name__ == "__main__":
    main()
