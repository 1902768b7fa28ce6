export OMP_NUM_THREADS=1
python run_classification.py --output_dir out --num_train_epochs 3 --per_device_train_batch_size 16 --learning_rate 1e-3 \
  --eval_strategy epoch --save_strategy epoch --load_best_model_at_end --save_total_limit 1 --logging_steps 25 \
  --use_cpu --report_to none
