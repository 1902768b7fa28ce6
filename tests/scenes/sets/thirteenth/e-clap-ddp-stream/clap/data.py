import torch, time


class ShardStream:
    """Every rank reads its own shards from start to end; batches are made as they come."""

    def __init__(self, rank, world, shards=11, per_shard=176, batch=16):
        self.mine = list(range(shards))[rank::world]
        self.per_shard, self.batch = per_shard, batch

    def __iter__(self):
        for shard in self.mine:
            g = torch.Generator().manual_seed(shard)
            for _ in range(self.per_shard // self.batch):
                audio = torch.randn(self.batch, 64, generator=g)
                text = audio @ torch.ones(64, 32) / 8 + torch.randn(self.batch, 32, generator=g)
                time.sleep(0.35)
                yield audio, text
