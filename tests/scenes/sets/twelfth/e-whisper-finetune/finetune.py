import time, torch
from torch.utils.data import Dataset
from transformers import (Seq2SeqTrainer, Seq2SeqTrainingArguments, WhisperConfig, WhisperForConditionalGeneration)

torch.manual_seed(0)


class Clips(Dataset):
    """Log-mel features of one second clips and their token ids."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        time.sleep(0.035)  # decode + resample
        y = torch.randint(3, 200, (12,), generator=g)
        x = torch.randn(80, 100, generator=g) * 0.1
        x[:12] += y[:, None] / 200
        return {"input_features": x, "labels": y}


config = WhisperConfig(
    vocab_size=2000, d_model=96, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
    encoder_ffn_dim=384, decoder_ffn_dim=384, max_source_positions=50, max_target_positions=64,
    pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, begin_suppress_tokens=None, suppress_tokens=None,
)
model = WhisperForConditionalGeneration(config)
print(f"Whisper-nano: {model.num_parameters() / 1e6:.2f}M parameters")
args = Seq2SeqTrainingArguments(
    output_dir="checkpoints/whisper-nano-de",
    per_device_train_batch_size=4, learning_rate=1e-3, warmup_steps=20, max_steps=400,
    logging_steps=5, save_steps=25, save_strategy="steps",
    report_to=[], use_cpu=True, dataloader_num_workers=0, disable_tqdm=True,
)
trainer = Seq2SeqTrainer(model=model, args=args, train_dataset=Clips(4000))
trainer.train()
trainer.save_model("checkpoints/final")
print("training finished")
