import glob, os, sys
import torch
from model import TDNN, load

exp, data = sys.argv[1:]
pts = sorted(glob.glob(f"{exp}/epoch-*.pt"), key=os.path.getmtime)[-3:]
states = [torch.load(p) for p in pts]
avg = {k: (sum(s[k].float() for s in states) / len(states)).to(v.dtype) for k, v in states[0].items()}
net = TDNN()
net.load_state_dict(avg)
net.eval()
_, _, x, y = load(data)
with torch.no_grad():
    bad = int((net(x).argmax(1) != y).sum())
print(f"%WER {100 * bad / len(y):.2f} [ {bad} / {len(y)}, 0 ins, 0 del, {bad} sub ] avg of {len(pts)}")
