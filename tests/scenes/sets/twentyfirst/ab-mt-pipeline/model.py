import torch.nn as nn


class Seq(nn.Module):
    """Next-token model shared by all stages."""

    def __init__(self, vocab=2000, d=320):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, vocab)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])
