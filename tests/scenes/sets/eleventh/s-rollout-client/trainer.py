import argparse
import logging
import time

import numpy as np
import requests

logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(asctime)s %(filename)s:%(lineno)d] %(message)s")
logging.getLogger("urllib3").setLevel(logging.ERROR)


def rollout(url, w):
    pause = 1.0
    while True:
        try:
            r = requests.post(url, json={"w": w.tolist()}, timeout=30)
            r.raise_for_status()
            return {k: np.array(v) for k, v in r.json().items()}
        except requests.RequestException as error:
            logging.warning("no rollouts (%s), again in %.0f s", error, pause)
            time.sleep(pause)
            pause = min(pause * 2, 8.0)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--sim")
    p.add_argument("--updates", type=int, default=600)
    a = p.parse_args()
    w = np.zeros((6, 3))
    for n in range(1, a.updates + 1):
        batch = rollout(a.sim, w)
        obs, act, reward = batch["obs"], batch["act"], batch["reward"]
        p_ = np.exp(obs @ w)
        p_ /= p_.sum(1, keepdims=True)
        adv = reward - reward.mean()
        loss = -(adv * np.log(p_[np.arange(len(act)), act])).mean()
        grad = obs.T @ ((np.eye(3)[act] - p_) * adv[:, None]) / len(act)
        w += 0.8 * grad
        time.sleep(0.4)
        if n % 2 == 0:
            logging.info("update %04d reward %.3f loss %+.4f |w| %.2f", n, reward.mean(), loss, np.linalg.norm(w))
        if n % 20 == 0:
            np.save("run/policy.npy", w)


if __name__ == "__main__":
    main()
