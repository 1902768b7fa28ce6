"""What executes a job elsewhere than as a process of ours: docker, Slurm, Kubernetes, Kaggle, each driven
through its own client. We write no scheduler."""
