import sys, time
import torch
hidden = int(sys.argv[1])
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(40, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 40))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
base = torch.randn(8, 40)
for step in range(1, 91):
    x = torch.randn(64, 8) @ base
    loss = (net(x * (torch.rand_like(x) > 0.15)) - x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.2)
    if step % 10 == 0:
        print(f"pretrain step {step}/90 loss {loss.item():.4f}", flush=True)
torch.save(net.state_dict(), "pretrained.pt")
print("wrote pretrained.pt", flush=True)
