export OMP_NUM_THREADS=1
python tools/export_cruises.py cruises && exec python train.py
