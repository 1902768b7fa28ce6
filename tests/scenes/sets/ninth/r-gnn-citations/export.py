"""第三步:导出节点向量"""
import os

import numpy as np
import torch

path = "gcn_final.pt" if os.path.exists("gcn_final.pt") else "gcn_best.pt"
state = torch.load(path)
np.save("node_vectors.npy", state["x.weight"].numpy())
print(f"[3/3] 已从 {path} 导出 {tuple(state['x.weight'].shape)} 到 node_vectors.npy", flush=True)
