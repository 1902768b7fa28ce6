#!/bin/bash
export OMP_NUM_THREADS=1
exec python -u dcgan.py --niter 6 --outf samples
