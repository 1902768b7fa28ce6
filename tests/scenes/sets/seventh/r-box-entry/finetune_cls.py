"""Fine-tunes a small classifier; arguments as in the examples of transformers."""
from dataclasses import dataclass, field

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, HfArgumentParser, Trainer, TrainingArguments, set_seed


@dataclass
class DataArguments:
    max_len: int = field(default=32)
    train_rows: int = field(default=2000)


class Rows(Dataset):
    def __init__(self, n, length, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randint(5, 200, (n, length), generator=g)
        self.y = (self.x.float().mean(1) > 102).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.y[i]}


def main():
    data, args = HfArgumentParser((DataArguments, TrainingArguments)).parse_args_into_dataclasses()
    set_seed(args.seed)
    cfg = BertConfig(vocab_size=200, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    tr = Trainer(model=BertForSequenceClassification(cfg), args=args,
                 train_dataset=Rows(data.train_rows, data.max_len, 1), eval_dataset=Rows(100, data.max_len, 2))
    tr.train()


if __name__ == "__main__":
    main()
