#!/bin/bash
export OMP_NUM_THREADS=1
echo "流水线开始 $(date '+%F %T')"
python build_graph.py
python train_gnn.py
python export.py
echo "流水线结束 $(date '+%F %T')"
