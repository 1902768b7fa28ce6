#!/bin/bash
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1
python teacher.py teacher.sock &
T=$!
python student.py cache teacher.sock || exit 1
echo "cache complete, stopping teacher server (pid $T)"
kill $T; wait $T; echo "teacher left with status $?"
python student.py train
