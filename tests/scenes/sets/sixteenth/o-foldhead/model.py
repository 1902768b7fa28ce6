import torch
from torch import nn


class FoldHead(nn.Module):
    """Sequence encoder without positions beyond the half (relative to the entity), distance loss on predicted CA."""

    def __init__(self, d_model, layers, heads):
        super().__init__()
        self.emb = nn.Embedding(21, d_model)
        self.pos = nn.Embedding(64, d_model)
        layer = nn.TransformerEncoderLayer(d_model, heads, 2 * d_model, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, layers)
        self.out = nn.Linear(d_model, 3)

    def forward(self, input_ids, labels=None, entity_pos=None):
        xyz = self.out(self.enc(self.emb(input_ids) + self.pos(entity_pos))) * 4.0
        n = xyz.shape[1]
        i, j = torch.triu_indices(n, n, offset=1)
        pred = ((xyz[:, i] - xyz[:, j]) ** 2).sum(-1).sqrt()
        true = (labels[:, i] - labels[:, j]).norm(dim=-1)
        loss = nn.functional.smooth_l1_loss(pred.clamp(min=0.5), true.clamp(max=20.0))
        return {"loss": loss, "logits": xyz}
