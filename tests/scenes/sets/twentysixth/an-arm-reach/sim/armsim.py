"""Two-link arm, planar. One request a line on stdin, one answer a line on stdout."""
import json
import math
import sys

L1, L2, DT = 0.5, 0.4, 0.05


class Arm:
    def __init__(self, seed):
        self.n = 0
        self.seed = seed
        self.reset(0)

    def reset(self, k):
        self.q = [0.3, 0.4]
        self.dq = [0.0, 0.0]
        a = (self.seed * 37 + k * 61) % 360 / 180.0 * math.pi
        self.goal = (0.6 * math.cos(a), 0.6 * math.sin(a))
        return self.obs()

    def tip(self):
        a, b = self.q[0], self.q[0] + self.q[1]
        return L1 * math.cos(a) + L2 * math.cos(b), L1 * math.sin(a) + L2 * math.sin(b)

    def obs(self):
        x, y = self.tip()
        return [math.cos(self.q[0]), math.sin(self.q[0]), math.cos(self.q[1]), math.sin(self.q[1]),
                self.dq[0], self.dq[1], self.goal[0] - x, self.goal[1] - y]

    def step(self, u):
        self.n += 1
        for i in (0, 1):
            self.dq[i] += DT * (4.0 * max(-1.0, min(1.0, u[i])) - 0.8 * self.dq[i])
            self.q[i] += DT * self.dq[i]
        if self.n % 5 == 0:
            # the implicit solver did not reach its tolerance within the substeps
            res = 1e-3 * (1.0 + abs(self.dq[0]))
            print(f"[armsim] t={self.n * DT:09.3f} contact solver: residual {res:.3e} above tol 1.000e-04 (8 substeps)",
                  file=sys.stderr, flush=True)
        x, y = self.tip()
        d = math.hypot(self.goal[0] - x, self.goal[1] - y)
        return self.obs(), -d + (1.0 if d < 0.08 else 0.0)


arm = Arm(int(sys.argv[1]))
for line in sys.stdin:
    m = json.loads(line)
    if m["cmd"] == "reset":
        print(json.dumps({"obs": arm.reset(m["k"])}), flush=True)
    else:
        o, r = arm.step(m["u"])
        print(json.dumps({"obs": o, "r": r}), flush=True)
