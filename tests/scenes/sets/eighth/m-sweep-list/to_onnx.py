import sys
import numpy as np
import onnx
from onnx import helper, numpy_helper

z = np.load(sys.argv[1] + ".npz")
nodes = [helper.make_node("Gemm", ["x", "W1", "b1"], ["h"]), helper.make_node("Tanh", ["h"], ["t"])]
g = helper.make_graph(nodes, "forecast", [], [], [numpy_helper.from_array(z[k], k) for k in ("W1", "b1")])
onnx.save(helper.make_model(g), sys.argv[1] + ".onnx")
