import sys, time
import torch
hidden, task = int(sys.argv[1]), sys.argv[2]
torch.manual_seed(1)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(40, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 40))
net.load_state_dict(torch.load("pretrained.pt"))
head = torch.nn.Linear(40, 3)
opt = torch.optim.Adam(list(net.parameters()) + list(head.parameters()), lr=1e-3)
for step in range(1, 61):
    x = torch.randn(64, 40)
    loss = torch.nn.functional.cross_entropy(head(net(x)), x[:, :3].argmax(1))
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.2)
    if step % 10 == 0:
        print(f"{task} step {step}/60 loss {loss.item():.4f}", flush=True)
torch.save({"net": net.state_dict(), "head": head.state_dict()}, f"{task}.pt")
print(f"wrote {task}.pt", flush=True)
