import time
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


class Recipes(Dataset):
    """token windows of the recipe dump, cut on the fly"""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        walk = torch.randint(-3, 4, (n, 48), generator=g).cumsum(1)
        self.ids = (walk + torch.randint(0, 500, (n, 1), generator=g)) % 500

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        time.sleep(0.03)
        return {"input_ids": self.ids[i], "labels": self.ids[i]}


def main():
    set_seed(42)
    torch.set_num_threads(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=500, n_positions=64, n_embd=192, n_layer=2, n_head=4,
                                       bos_token_id=0, eos_token_id=0))
    args = TrainingArguments(
        output_dir="scratch/gpt-recipes",
        max_steps=400,
        per_device_train_batch_size=8,
        learning_rate=5e-4,
        warmup_steps=20,
        logging_steps=10,
        save_strategy="steps",
        save_steps=20,
        report_to=[],
        use_cpu=True,
        seed=42,
    )
    trainer = Trainer(model=model, args=args, train_dataset=Recipes(2000, 1))
    trainer.train()
    trainer.save_model("scratch/gpt-recipes/final")


if __name__ == "__main__":
    main()
