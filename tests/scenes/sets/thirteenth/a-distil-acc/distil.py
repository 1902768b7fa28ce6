"""Distils a wide teacher into a small student over next-token distributions."""
import time
import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator

torch.manual_seed(0)
torch.set_num_threads(1)
VOCAB, SEQ, BATCH, STEPS = 2048, 32, 12, 600


class Encoder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, VOCAB)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


acc = Accelerator(cpu=True)
teacher, student = Encoder(64).eval(), Encoder(24)
opt = torch.optim.AdamW(student.parameters(), lr=3e-3)
data = torch.randint(0, VOCAB, (960, SEQ)) // torch.randint(1, 40, (960, SEQ))
loader = torch.utils.data.DataLoader(data, batch_size=BATCH, shuffle=True)
student, opt, loader = acc.prepare(student, opt, loader)
acc.print(f"distilling: teacher {sum(p.numel() for p in teacher.parameters())/1e6:.2f}M -> student "
          f"{sum(p.numel() for p in student.parameters())/1e6:.2f}M, {STEPS} steps")

history = {"kl": [], "student_logits": []}
step = 0
while step < STEPS:
    for x in loader:
        with torch.no_grad():
            t = F.log_softmax(teacher(x) / 2.0, -1)
        logits = student(x)
        kl = F.kl_div(F.log_softmax(logits / 2.0, -1), t, log_target=True, reduction="batchmean") / SEQ
        acc.backward(kl)
        opt.step()
        opt.zero_grad()
        history["kl"].append(kl.item())
        history["student_logits"].append(logits)
        step += 1
        time.sleep(0.15)
        if step % 10 == 0:
            last = history["kl"][-10:]
            acc.print(f"step={step} kl={sum(last)/len(last):.5f} agree={(logits.argmax(-1) == t.argmax(-1)).float().mean():.3f}", flush=True)
        if step >= STEPS:
            break
acc.save_model(student, "student")
