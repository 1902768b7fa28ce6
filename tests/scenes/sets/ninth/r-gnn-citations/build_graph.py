"""第一步:生成引文图"""
import numpy as np

rng = np.random.default_rng(8)
N, C = 600, 4
y = rng.integers(0, C, N)
src, dst = [], []
for i in range(N):
    same = np.flatnonzero(y == y[i])
    for j in list(rng.choice(same, 4)) + list(rng.integers(0, N, 1)):
        src.append(i)
        dst.append(j)
train = np.flatnonzero(rng.random(N) < 0.5)
late = np.arange(N, N + 40)                    # 新发表的论文, 只用于最终验证
src += list(late)
dst += list(rng.integers(0, N, len(late)))
np.savez("graph.npz", src=src, dst=dst, y=np.concatenate([y, rng.integers(0, C, len(late))]),
         train=train, valid=np.setdiff1d(np.arange(N), train), late=late, n=N)
print(f"[1/3] 图已生成: {N} 个节点, {len(src)} 条边, {C} 个类别", flush=True)
