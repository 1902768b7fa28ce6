"""Small conformer-ish CTC acoustic model, utterances sorted by duration (sortagrad, first epoch)."""
import logging, math, time
import torch, torch.nn as nn

logging.basicConfig(format="%(asctime)s %(levelname)s [%(name)s] %(message)s", level=logging.INFO)
log = logging.getLogger("asr.train")
torch.manual_seed(7)
VOCAB, MEL, STEPS = 32, 40, 420


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = nn.Sequential(nn.Conv1d(MEL, 64, 3, 2, 1), nn.ReLU(), nn.Conv1d(64, 64, 3, 2, 1), nn.ReLU())
        self.rnn = nn.GRU(64, 64, batch_first=True)
        self.out = nn.Linear(64, VOCAB)

    def forward(self, x):
        h = self.sub(x).transpose(1, 2)
        h, _ = self.rnn(h)
        return self.out(h).log_softmax(-1)


def utterances():
    """(frames, tokens) pairs; speaking rate differs from corpus to corpus."""
    g = torch.Generator().manual_seed(1)
    for i in range(STEPS):
        frames = 80 + i // 3
        rate = 0.06 + 0.03 * torch.rand(8, generator=g)
        if i >= 150:                       # here the call-centre corpus starts in the sorted list
            rate[0] = 0.31
        tokens = (rate * frames).long().clamp(min=2)
        target = torch.randint(1, VOCAB, (8, int(tokens.max())), generator=g)
        x = torch.randn(8, MEL, frames, generator=g)
        x[:, : VOCAB] += 0.5 * torch.nn.functional.one_hot(target[:, :1], VOCAB).transpose(1, 2).float()
        yield x, target, tokens


def main():
    model = Encoder()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    ctc = nn.CTCLoss(blank=0)
    log.info("parameters: %.2fk  steps: %d", sum(p.numel() for p in model.parameters()) / 1e3, STEPS)
    t0 = time.time()
    for step, (x, target, tokens) in enumerate(utterances(), 1):
        logp = model(x)
        lens = torch.full((8,), logp.shape[1], dtype=torch.long)
        loss = ctc(logp.transpose(0, 1), target, lens, tokens)
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        time.sleep(0.12)
        if step % 5 == 0:
            log.info("step %4d/%d | loss %.4f | grad_norm %.3f | frames %d | %.1f utt/s",
                     step, STEPS, loss.item(), norm, x.shape[2], 8 * step / (time.time() - t0))
    torch.save(model.state_dict(), "asr_ctc.pt")
    log.info("epoch 1 done")


main()
