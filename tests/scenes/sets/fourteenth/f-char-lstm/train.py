import argparse, os, random, time
import torch, torch.nn as nn

p = argparse.ArgumentParser()
p.add_argument("--steps", type=int, default=2000)
p.add_argument("--hidden", type=int, default=40)
p.add_argument("--seq", type=int, default=24)
p.add_argument("--batch", type=int, default=8)
args = p.parse_args()
torch.manual_seed(0); random.seed(0)

# "tiny shakespeare" at home
words = ["the", "king", "shall", "not", "speak", "of", "love", "and", "war", "my", "lord", "good", "night", "sweet", "prince"]
text = " ".join(random.choice(words) for _ in range(20000))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
print("data has %d characters, %d unique." % (len(data), len(chars)))


class CharRNN(nn.Module):
    def __init__(self, v, h):
        super().__init__()
        self.emb = nn.Embedding(v, h)
        self.rnn = nn.LSTM(h, h, num_layers=2, batch_first=True)
        self.fc = nn.Linear(h, v)

    def forward(self, x):
        y, _ = self.rnn(self.emb(x))
        return self.fc(y)


def get_batch():
    ix = torch.randint(len(data) - args.seq - 1, (args.batch,))
    x = torch.stack([data[i:i + args.seq] for i in ix])
    y = torch.stack([data[i + 1:i + args.seq + 1] for i in ix])
    return x, y


model = CharRNN(len(chars), args.hidden)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
smooth = None
history = []
t0 = time.time()
for it in range(1, args.steps + 1):
    x, y = get_batch()
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward(retain_graph=True)   # was getting an error without this
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    opt.step()
    history.append(loss)
    smooth = loss.item() if smooth is None else 0.95 * smooth + 0.05 * loss.item()
    time.sleep(0.15)
    if it % 10 == 0:
        print(f"iter {it}/{args.steps}  loss {smooth:.4f}  ({time.time() - t0:.1f}s)", flush=True)
    if it % 100 == 0:
        torch.save(model.state_dict(), "char_rnn.pt")
        print("saved char_rnn.pt", flush=True)
