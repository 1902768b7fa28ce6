#!/bin/bash
export OMP_NUM_THREADS=1
echo $$ > gan.pid
exec python glyphs.py --iters 4000 --csv losses.csv
