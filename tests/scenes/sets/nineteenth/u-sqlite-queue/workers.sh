export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1
python jobs.py init
python jobs.py work A & python jobs.py work B & wait
python jobs.py report
