"""Small CTC acoustic model, trained on log-mel frames."""
import argparse
import json
import time

import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--steps", type=int, default=420)
p.add_argument("--lr", type=float, default=2e-3)
p.add_argument("--log-every", type=int, default=10)
args = p.parse_args()

torch.set_num_threads(1)
torch.manual_seed(11)
VOCAB, MEL = 24, 16
proto = torch.randn(VOCAB, MEL)


def utterance(i):
    """A speaker says words; each unit lasts about four frames. One of the corpora was cut by a VAD."""
    units = torch.randint(1, VOCAB, (int(torch.randint(4, 9, ()).item()),))
    frames = proto[units].repeat_interleave(4, 0)
    if i >= 1500 and i % 97 == 0:
        frames = frames[: len(units) - 2]
    return frames + 0.3 * torch.randn_like(frames), units


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(MEL, 48, batch_first=True, bidirectional=True)
        self.out = nn.Linear(96, VOCAB)

    def forward(self, x):
        return self.out(self.rnn(x)[0]).log_softmax(-1)


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=args.lr)
ctc = nn.CTCLoss(blank=0)
print(json.dumps({"event": "start", "params": sum(q.numel() for q in net.parameters()), "lr": args.lr}), flush=True)
began, index = time.time(), 0
for step in range(1, args.steps + 1):
    batch = [utterance(index + k) for k in range(8)]
    index += 8
    x = nn.utils.rnn.pad_sequence([b[0] for b in batch], batch_first=True)
    lens = torch.tensor([len(b[0]) for b in batch])
    y = torch.cat([b[1] for b in batch])
    ylens = torch.tensor([len(b[1]) for b in batch])
    loss = ctc(net(x).transpose(0, 1), y, lens, ylens)
    opt.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
    time.sleep(0.12)
    if step % args.log_every == 0:
        print(json.dumps({"step": step, "ctc_loss": round(loss.item(), 4), "grad_norm": round(float(norm), 3),
                          "utt_per_s": round(index / (time.time() - began), 1)}), flush=True)
    if step % 100 == 0:
        torch.save(net.state_dict(), "asr.pt")
        print(json.dumps({"event": "checkpoint", "path": "asr.pt", "step": step}), flush=True)
torch.save(net.state_dict(), "asr_final.pt")
print(json.dumps({"event": "done", "step": args.steps}), flush=True)
