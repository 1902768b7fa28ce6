#!/bin/bash
export OMP_NUM_THREADS=1 KERAS_BACKEND=torch
python search_yield.py
