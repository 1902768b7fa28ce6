import json, os, sqlite3, sys, time, traceback
import numpy as np
db = sqlite3.connect("queue.db", timeout=20, isolation_level=None)
OPT = {"sgd": .05, "momentum": .02, "nesterov": .02}

def train(name, c, who):
    rng = np.random.default_rng(c["seed"]); lr = OPT[c["optimizer"]]
    if c["optimizer"] == "nesterov" and c["lookahead"]: raise ValueError("infeasible combination: nesterov with lookahead")
    X = rng.normal(size=(300, 10)); y = X @ rng.normal(size=10) + .1 * rng.normal(size=300); w = np.zeros(10); v = np.zeros(10)
    for s in range(1, 61):
        g = 2 * X.T @ (X @ w - y) / 300; v = (0 if c["optimizer"] == "sgd" else .8) * v - lr * g; w += v; time.sleep(.1)
        if s % 15 == 0: print(f"{time.strftime('%H:%M:%S')} worker-{who} {name} step {s}/60 mse {((X @ w - y) ** 2).mean():.4f}")
    return float(((X @ w - y) ** 2).mean())

cmd = sys.argv[1]
if cmd == "init":
    db.execute("create table job(id integer primary key, name, config, state default 'todo', tries default 0, result)")
    for i in range(8):
        db.execute("insert into job(name, config) values(?,?)", (f"exp{i:02d}", json.dumps({"seed": i, "optimizer": list(OPT)[i % 3], "lookahead": i > 4})))
    open("exp02.lock", "w").close()
    print("queued 8 jobs")
elif cmd == "work":
    who = sys.argv[2]
    while True:
        db.execute("begin immediate")
        r = db.execute("select id, name, config, tries from job where state='todo' order by tries, id limit 1").fetchone()
        if not r: db.execute("commit"); break
        db.execute("update job set state='running', tries=tries+1 where id=?", (r[0],)); db.execute("commit")
        try:
            if os.path.exists(f"{r[1]}.lock"):
                os.remove(f"{r[1]}.lock"); raise BlockingIOError(f"{r[1]}.lock is held")
            res = train(r[1], json.loads(r[2]), who)
            db.execute("update job set state='done', result=? where id=?", (res, r[0])); print(f"worker-{who} {r[1]} done mse {res:.4f}")
        except BlockingIOError as e:
            print(f"worker-{who} {r[1]} deferred: {e}, will retry"); db.execute("update job set state='todo' where id=?", (r[0],))
        except ValueError as e:
            traceback.print_exc(); db.execute("update job set state='infeasible' where id=?", (r[0],))
            print(f"worker-{who} {r[1]} marked infeasible, moving on")
    print(f"worker-{who} queue empty, leaving")
else:
    for s, n in db.execute("select state, count(*) from job group by state"): print(s, n)
