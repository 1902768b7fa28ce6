"""Wasserstein GAN in plain numpy (weight clipping), generator is affine, critic one hidden layer."""
import csv, sys, time
import numpy as np

rng = np.random.default_rng(12)
H, CLIP = 64, 0.3


def real(n):
    return rng.normal(size=(n, 2)) @ np.array([[1.0, 0.6], [0.0, 0.5]]) + np.array([4.0, -3.0])


def critic(p, x):
    a = x @ p["W1"] + p["b1"]
    return np.maximum(a, 0) @ p["w2"], a


def critic_grads(p, x, a, up):
    """gradients of sum(up * f(x))"""
    back = up[:, None] * (a > 0) * p["w2"]
    return {"W1": x.T @ back, "b1": back.sum(0), "w2": np.maximum(a, 0).T @ up}, back @ p["W1"].T


def main():
    p = {"W1": rng.normal(0, 0.1, (2, H)), "b1": np.zeros(H), "w2": rng.normal(0, 0.1, H)}
    A, b = np.eye(2) * 0.3, np.zeros(2)
    out = csv.writer(sys.stdout)
    out.writerow(["critic_loss", "generator_loss", "distance", "seconds"])
    t0 = time.time()
    for it in range(1, 451):
        for _ in range(5):
            z = rng.normal(size=(128, 2))
            xr, xf = real(128), z @ A + b
            (fr, ar), (ff, af) = critic(p, xr), critic(p, xf)
            gr, _ = critic_grads(p, xr, ar, np.full(128, -1 / 128))
            gf, _ = critic_grads(p, xf, af, np.full(128, 1 / 128))
            for k in p:
                p[k] = np.clip(p[k] - 0.02 * (gr[k] + gf[k]), -CLIP, CLIP)
            c_loss = ff.mean() - fr.mean()
        z = rng.normal(size=(128, 2))
        x = z @ A + b
        f, a = critic(p, x)
        _, gx = critic_grads(p, x, a, np.full(128, -1 / 128))
        A -= 0.004 * z.T @ gx
        b -= 0.004 * gx.sum(0)
        with np.errstate(all="warn"):
            density = 1 / (1 + np.exp(1000 * np.abs(x[:, 0])))       # only to see how many sit on the axis
        time.sleep(0.2)
        if it % 5 == 0:
            gap = np.linalg.norm(b - np.array([4.0, -3.0])) + density.max()
            out.writerow([f"{c_loss:.4f}", f"{-f.mean():.4f}", f"{gap:.3f}", f"{time.time() - t0:.0f}"])
            sys.stdout.flush()
    np.savez("generator.npz", A=A, b=b)
    print("saved generator.npz", flush=True)


if __name__ == "__main__":
    main()
