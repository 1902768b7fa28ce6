import argparse, random, time
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch.utils.data import Dataset
from transformers import (BertConfig, BertForMaskedLM, DataCollatorForLanguageModeling, PreTrainedTokenizerFast,
                          Trainer, TrainingArguments)

ap = argparse.ArgumentParser()
ap.add_argument("--output_dir", default="out")
ap.add_argument("--max_steps", type=int, default=400)
ap.add_argument("--save_steps", type=int, default=40)
args = ap.parse_args()

random.seed(0)
torch.set_num_threads(1)
SUBJ = "patient doctor nurse study trial dose tumor biopsy sample protein gene cell".split()
VERB = "shows reports treats measures binds inhibits requires suggests".split()
ADJ = "acute benign chronic severe mild stable early late".split()
lines = [f"the {random.choice(ADJ)} {random.choice(SUBJ)} {random.choice(VERB)} a {random.choice(ADJ)} {random.choice(SUBJ)} in {random.randint(1, 900)} cases"
         for _ in range(3000)]

tok = Tokenizer(models.WordLevel(unk_token="[UNK]"))
tok.pre_tokenizer = pre_tokenizers.Whitespace()
tok.train_from_iterator(lines, trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tok, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
                                    sep_token="[SEP]", mask_token="[MASK]")


class Lines(Dataset):
    def __len__(self):
        return len(lines)

    def __getitem__(self, i):
        time.sleep(0.012)
        return tokenizer(lines[i], truncation=True, max_length=32)


model = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), hidden_size=128, num_hidden_layers=2, num_attention_heads=4,
                                   intermediate_size=512, max_position_embeddings=64))
print(f"parameters: {model.num_parameters():,}", flush=True)
targs = TrainingArguments(output_dir=args.output_dir, max_steps=args.max_steps, per_device_train_batch_size=8,
                          learning_rate=5e-4, warmup_steps=20, logging_steps=10, save_steps=args.save_steps,
                          use_cpu=True, report_to="none", dataloader_pin_memory=False)
trainer = Trainer(model=model, args=targs, train_dataset=Lines(),
                  data_collator=DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15))
trainer.train()
trainer.save_model(args.output_dir + "/final")
print("done", flush=True)
