import collections, copy, random, time
import torch
from torch import nn
import gymnasium as gym
torch.set_num_threads(1); torch.manual_seed(0); random.seed(0)
env = gym.make("CartPole-v1"); q = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2)); tgt = copy.deepcopy(q); o = torch.optim.Adam(q.parameters(), 2e-3)
buf = collections.deque(maxlen=5000); frames, ep, loss = 0, 0, None; hist = collections.deque(maxlen=10)
while frames < 4200:
    s, _ = env.reset(seed=ep); R, done = 0, False; ep += 1
    while not done:
        eps = max(.05, 1 - max(0, frames - 1200) / 1500)
        a = random.randrange(2) if random.random() < eps else int(q(torch.tensor(s)).argmax())
        s2, r, term, trunc, _ = env.step(a); done = term or trunc; buf.append((s, a, r, s2, term)); s = s2; R += r; frames += 1; time.sleep(.007)
        if frames > 1200 and frames % 2 == 0:
            S, A, W, N, T = (torch.tensor([list(v) if hasattr(v, "__len__") else v for v in z], dtype=torch.float32) for z in zip(*random.sample(buf, 64)))
            with torch.no_grad(): y = W + .99 * (1 - T) * tgt(N).max(1).values
            l = nn.functional.smooth_l1_loss(q(S).gather(1, A.long()[:, None])[:, 0], y); o.zero_grad(); l.backward(); o.step(); loss = l.item()
        if frames % 200 == 0: tgt.load_state_dict(q.state_dict())
    hist.append(R)
    if ep % 4 == 0 or R > 150: print(f"ep {ep:4d} | frames {frames:5d} | return {R:5.0f} | avg10 {sum(hist) / len(hist):6.1f} | eps {eps:.2f} | loss {'n/a' if loss is None else f'{loss:.5f}'}")
torch.save(q.state_dict(), "dqn.pt"); print("frame budget used up, saved dqn.pt")
