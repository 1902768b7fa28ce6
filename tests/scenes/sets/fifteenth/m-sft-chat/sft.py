import random, time
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, set_seed

ANSWER = "<|assistant|>\n"      # loss only on what comes after it
rnd = random.Random(0)
ASK = ["what is the price", "when do you open", "where is my parcel", "can i pay later"]
SAY = ["it costs ten euro", "we open at nine", "it comes tomorrow", "yes, in three parts"]


def render(q, a):
    return f"<|im_start|>user\n{q}<|im_end|>\n<|im_start|>assistant\n{a}<|im_end|>"


def encode(text, length=104):
    ids = [min(ord(c), 127) for c in text[:length]]
    at = text.find(ANSWER)
    start = at + len(ANSWER) if at >= 0 else length
    labels = [-100] * min(start, len(ids)) + ids[start:]
    pad = length - len(ids)
    return {"input_ids": torch.tensor(ids + [0] * pad), "labels": torch.tensor(labels + [-100] * pad),
            "attention_mask": torch.tensor([1] * len(ids) + [0] * pad)}


class Chats(torch.utils.data.Dataset):
    rows = [encode(render(rnd.choice(ASK), rnd.choice(SAY))) for _ in range(1500)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        time.sleep(0.07)
        return self.rows[i]


if __name__ == "__main__":
    set_seed(0)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=128, hidden_size=48, intermediate_size=96, num_hidden_layers=2,
                                         num_attention_heads=4, max_position_embeddings=128))
    print("chats:", len(Chats.rows), "parameters:", model.num_parameters(), flush=True)
    Trainer(model=model, train_dataset=Chats(), args=TrainingArguments(
        output_dir="sft-out", per_device_train_batch_size=4, max_steps=360, logging_steps=10, learning_rate=1e-3,
        save_steps=120, save_total_limit=1, report_to="none", use_cpu=True)).train()
