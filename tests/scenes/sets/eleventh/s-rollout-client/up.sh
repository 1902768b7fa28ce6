#!/bin/bash
export OMP_NUM_THREADS=1
mkdir -p run; rm -f run/sim.port
python -u sim.py run/sim.port > run/sim.log 2>&1 & echo $! > run/sim.pid
until [ -s run/sim.port ]; do sleep 0.3; done
exec python -u trainer.py --sim "http://127.0.0.1:$(cat run/sim.port)/rollout" >> run/trainer.log 2>&1
