import sys
import torch
from train_ss import Net, encode, read_fasta

net = Net()
net.load_state_dict(torch.load(sys.argv[1]))
for head, s in list(read_fasta("data/shard_00.fa"))[:20]:
    with torch.no_grad():
        h = net(encode([s])[0])[0]
    print(head.split("|")[1], "".join("H" if v > 1.02 else "-" for v in h.tolist()))
