import argparse, os, time, numpy as np, pandas as pd
a = argparse.ArgumentParser(); a.add_argument("--months", nargs="+"); a = a.parse_args()
os.makedirs("data", exist_ok=True)
CHANNELS = {"2024-03": ["web", "app", "pos", "instant"]}
for m in a.months:
    r = np.random.default_rng(int(m[-2:])); n = 4000
    ch = r.choice(CHANNELS.get(m, ["web", "app", "pos"]), n)
    amount = r.lognormal(3, 1.1, n); hour = r.integers(0, 24, n); age = r.integers(1, 3000, n)
    s = .4 * np.log(amount) + (ch == "web") * .9 - age / 1500 + (hour < 6) - 2.2 + r.normal(0, .5, n)
    pd.DataFrame(dict(amount=amount, hour=hour, account_age=age, channel=ch, is_fraud=(s > 0).astype(int))).to_csv(f"data/tx_{m}.csv", index=False)
    print(f"prepare: {m} {n} transactions, fraud share {(s > 0).mean():.3f}"); time.sleep(1)
