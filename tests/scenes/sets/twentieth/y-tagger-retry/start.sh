export OMP_NUM_THREADS=1
mkdir -p run; rm -f run/*
exec bash retry.sh 5 python -u tagger.py
