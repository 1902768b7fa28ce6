# -*- coding: utf-8 -*-
import csv, time, logging
import jax, jax.numpy as jnp, numpy as np, optax

logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(message)s", datefmt="%H:%M:%S")
日志 = logging.info
key = jax.random.PRNGKey(0)
k1, k2, k3 = jax.random.split(key, 3)
params = {"w1": jax.random.normal(k1, (160, 64)) * 0.08, "b1": jnp.zeros(64), "w2": jax.random.normal(k2, (64, 12)) * 0.1, "b2": jnp.zeros(12)}
proto = np.asarray(jax.random.normal(k3, (12, 160)))
tx = optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 4e-3, 50, 1000))
state = tx.init(params)


def forward(p, x):
    return jax.nn.relu(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


@jax.jit
def train(p, s, x, y):
    loss, g = jax.value_and_grad(lambda q: optax.softmax_cross_entropy_with_integer_labels(forward(q, x), y).mean())(p)
    up, s = tx.update(g, s, p)
    return optax.apply_updates(p, up), s, loss


rng = np.random.default_rng(0)


def batch(n):
    y = rng.integers(0, 12, n)
    return (0.3 * proto[y] + rng.standard_normal((n, 160))).astype("f4"), y


日志("关键词识别训练开始,设备:%s", jax.devices()[0])
表 = csv.writer(open("history.csv", "w"))
表.writerow(["轮次", "训练损失", "验证准确率"])
for 轮 in range(1, 21):
    损失 = []
    for _ in range(40):
        params, state, l = train(params, state, *batch(32))
        损失.append(float(l))
        time.sleep(0.06)
    x, y = batch(400)
    准确率 = float((np.asarray(forward(params, x)).argmax(-1) == y).mean())
    日志("第 %d/20 轮 | 训练损失 %.4f | 验证准确率 %.2f%% | 学习率 %.2e", 轮, np.mean(损失), 100 * 准确率, 4e-3)
    表.writerow([轮, np.mean(损失), 准确率])
    np.savez("kws_latest.npz", **{k: np.asarray(v) for k, v in params.items()})
日志("训练完成,模型已保存到 kws_latest.npz")
