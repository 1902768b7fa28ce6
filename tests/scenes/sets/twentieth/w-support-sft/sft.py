import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

from data import CHARS, PAD, VOCAB, build, collate

torch.set_num_threads(1)
set_seed(3)
END = CHARS.index("\n")


class SftTrainer(Trainer):
    def training_step(self, *args, **kwargs):
        time.sleep(0.3)
        return super().training_step(*args, **kwargs)

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        out = model(**inputs)
        logits, target = out.logits[:, :-1], labels[:, 1:]
        keep = (target != -100).float()
        each = -logits.log_softmax(-1).gather(-1, target.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        # the end of an answer counts double
        keep = keep * torch.where(target == END, 2.0, 1.0)
        loss = (each * keep).sum() / keep.sum()
        return (loss, out) if return_outputs else loss


def main():
    base = GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, n_positions=128, n_embd=64, n_layer=2, n_head=2,
                                      bos_token_id=PAD, eos_token_id=PAD, pad_token_id=PAD))
    lora = LoraConfig(r=8, lora_alpha=16, lora_dropout=0.05, target_modules=["c_attn", "c_proj"],
                      modules_to_save=["lm_head", "wte"], fan_in_fan_out=True, task_type="CAUSAL_LM")
    model = get_peft_model(base, lora)
    model.print_trainable_parameters()
    args = TrainingArguments(
        output_dir="out/support-sft-r8", per_device_train_batch_size=2, max_steps=170, learning_rate=2e-3,
        lr_scheduler_type="cosine", warmup_steps=10, logging_steps=5, save_steps=85, max_grad_norm=1.0,
        report_to=[], use_cpu=True, disable_tqdm=True, remove_unused_columns=False, dataloader_pin_memory=False)
    trainer = SftTrainer(model=model, args=args, train_dataset=build(1200, 11), data_collator=collate)
    trainer.train()
    model.save_pretrained("out/support-sft-r8/final")
    print("adapter saved to out/support-sft-r8/final")


if __name__ == "__main__":
    main()
