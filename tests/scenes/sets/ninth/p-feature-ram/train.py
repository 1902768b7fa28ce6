import os
import time
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from transformers import Wav2Vec2Config, Wav2Vec2ForSequenceClassification

con = Console(width=100, force_terminal=False, log_path=False)
N, LEN, EPOCHS, BATCH = 560, 60_000, 4, 8
CLASSES = 4


class CachedClips(torch.utils.data.Dataset):
    """Clips are decoded once, in the first epoch, and then kept in memory."""

    def __init__(self):
        self.cache = {}

    def __len__(self):
        return N

    def __getitem__(self, i):
        if i not in self.cache:
            g = torch.Generator().manual_seed(i)
            t = torch.arange(LEN) / 16_000
            self.cache[i] = torch.sin(2 * torch.pi * (200 + 300 * (i % CLASSES)) * t) + 0.3 * torch.randn(LEN, generator=g)
        s = (i * 37) % (LEN - 1600)
        return self.cache[i][s:s + 1600], i % CLASSES


def slow_store(state, path):
    """The bucket is mounted over the network: write in pieces as it takes them."""
    local = Path(path.name + ".local")
    torch.save(state, local)
    with open(local, "rb") as src, open(path, "wb") as dst:
        while piece := src.read(1 << 16):
            dst.write(piece)
            dst.flush()
            os.fsync(dst.fileno())
            time.sleep(1.2)
    local.unlink()


def main():
    torch.manual_seed(1)
    model = Wav2Vec2ForSequenceClassification(Wav2Vec2Config(
        hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, conv_dim=(32, 32, 32), conv_stride=(5, 4, 4),
        conv_kernel=(10, 8, 4), num_feat_extract_layers=3, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4,
        num_labels=CLASSES, classifier_proj_size=32, apply_spec_augment=False))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(CachedClips(), batch_size=BATCH, shuffle=True)
    Path("bucket").mkdir(exist_ok=True)
    con.log(f"{N} clips, {len(loader)} batches per epoch, {sum(p.numel() for p in model.parameters()):,} parameters")
    table = Table("epoch", "loss", "accuracy", "seconds")
    for epoch in range(1, EPOCHS + 1):
        t0, losses, hits = time.time(), [], 0
        for k, (x, y) in enumerate(loader, 1):
            out = model(input_values=x, labels=y)
            out.loss.backward()
            opt.step()
            opt.zero_grad()
            losses.append(out.loss.item())
            hits += int((out.logits.argmax(-1) == y).sum())
            time.sleep(0.12)
            if k % 10 == 0:
                con.log(f"epoch {epoch} batch {k}/{len(loader)} loss {sum(losses[-10:]) / 10:.4f}")
        table.add_row(str(epoch), f"{sum(losses) / len(losses):.4f}", f"{hits / N:.3f}", f"{time.time() - t0:.1f}")
        if epoch in (2, EPOCHS):
            con.log("saving to the bucket ...")
            slow_store({"model": model.state_dict(), "opt": opt.state_dict()}, Path(f"bucket/epoch{epoch}.pt"))
            con.log(f"saved bucket/epoch{epoch}.pt")
    con.print(table)


main()
