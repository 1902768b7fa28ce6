import argparse, time
import torch
from torch.utils.data import TensorDataset, Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed


class Intents(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(9)
        self.y = torch.randint(0, 6, (n,), generator=g)
        self.x = torch.randint(6, 300, (n, 24), generator=g)
        self.x[torch.arange(n), torch.randint(0, 24, (n,), generator=g)] = self.y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        time.sleep(0.02)
        return {"input_ids": self.x[i], "labels": self.y[i]}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--output", default="/mnt/scratch/intent")
    ap.add_argument("--steps", type=int, default=400)
    ap.add_argument("--save-every", type=int, default=20)
    a = ap.parse_args()
    set_seed(1)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=300, hidden_size=96, num_hidden_layers=3, num_attention_heads=4, intermediate_size=192,
        num_labels=6))
    args = TrainingArguments(
        output_dir=a.output, max_steps=a.steps, per_device_train_batch_size=8, learning_rate=3e-4,
        logging_steps=5, save_steps=a.save_every, report_to="none", use_cpu=True)
    Trainer(model=model, args=args, train_dataset=Intents(4000)).train()
    print("fine-tuning finished, model in", a.output)


if __name__ == "__main__":
    main()
