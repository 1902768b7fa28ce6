import json, time
import torch
import torch.nn as nn
from pack import load, BLOCK

torch.manual_seed(1)
torch.set_num_threads(1)


def say(text):
    print(f"[{time.strftime('%X')}] {text}", flush=True)


class Tiny(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.emb, self.pos = nn.Embedding(256, d), nn.Embedding(BLOCK, d)
        self.layer = nn.TransformerEncoderLayer(d, 2, 128, 0.0, batch_first=True)
        self.head = nn.Linear(d, 256)

    def forward(self, x):
        n = x.shape[1]
        m = nn.Transformer.generate_square_subsequent_mask(n)
        return self.head(self.layer(self.emb(x) + self.pos.weight[:n], src_mask=m, is_causal=True))


def main():
    model = Tiny()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step = 0
    for shard in range(6):
        say(f"loading shard {shard + 1}/6")
        blocks = torch.tensor(load(shard, say))
        for x in blocks.split(8):
            loss = nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            time.sleep(0.1)
            if step % 10 == 0:
                say(f"step {step} loss {loss.item():.3f}")
        torch.save(model.state_dict(), "tiny.pt")
    say("training complete")


if __name__ == "__main__":
    main()
