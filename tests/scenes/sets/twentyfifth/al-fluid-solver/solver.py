"""1-D channel flow, the reference solver. One JSON request a line on stdin, one answer a line on stdout."""
import json
import sys

import numpy as np


def solve(nu, push, n=48):
    u = np.zeros(n)
    dx = 1.0 / (n - 1)
    dt = 0.4 * dx * dx / nu
    it, res = 0, 1.0
    while res > 1e-5 and it < 1200:
        new = u.copy()
        new[1:-1] += dt * (nu * (u[2:] - 2 * u[1:-1] + u[:-2]) / dx ** 2 + push)
        res = float(np.abs(new - u).max() / (np.abs(new).max() + 1e-9))
        u = new
        it += 1
        if it % 150 == 0:
            print(f"  it {it:5d} residual {res:.3e} umax {u.max():.4f}", file=sys.stderr)
    print(f"nu {nu:.4f} push {push:.3f}: {it} iterations, residual {res:.2e}", file=sys.stderr)
    sys.stderr.flush()
    return u


for line in sys.stdin:
    q = json.loads(line)
    print(json.dumps({"u": solve(q["nu"], q["push"])[::4].round(6).tolist()}), flush=True)
