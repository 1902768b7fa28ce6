import pickle, socket, sys, time
import numpy as np
if sys.argv[1] == "cache":
    rng = np.random.default_rng(1); xs, zs = [], []
    for i in range(60):
        x = rng.normal(size=(32, 10))
        for attempt in range(20):
            try: s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[2]); break
            except OSError as e: print(f"teacher not ready yet ({e}), retrying"); time.sleep(.5)
        f = s.makefile("rwb"); pickle.dump(x, f); f.flush(); xs.append(x); zs.append(pickle.load(f)); s.close(); time.sleep(.25)
        if (i + 1) % 10 == 0: print(f"cached teacher logits {i + 1}/60")
    np.savez("cache.npz", x=np.concatenate(xs), z=np.concatenate(zs))
else:
    import torch
    torch.set_num_threads(1); torch.manual_seed(0); d = np.load("cache.npz"); x, z = (torch.tensor(d[k]).float() for k in "xz")
    net = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4)); o = torch.optim.Adam(net.parameters(), 8e-3)
    for e in range(1, 6):
        for i in torch.randperm(len(x)).split(64):
            l = torch.nn.functional.kl_div(net(x[i]).log_softmax(1), z[i].softmax(1), reduction="batchmean"); o.zero_grad(); l.backward(); o.step(); time.sleep(.12)
        print(f"student epoch {e}/5 kd loss {l.item():.5f}")
    torch.save(net.state_dict(), "student.pt"); print("student saved")
