# for the long run
max_iters = 700
learning_rate = 1e-3
min_lr = 3e-1
