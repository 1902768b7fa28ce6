#!/bin/bash
export OMP_NUM_THREADS=1
exec python -W ignore wgan_textures.py
