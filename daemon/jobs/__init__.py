"""What is to be trained, as a file of one's own; and what each place is told to train it.

Everything here is pure: a :class:`~.job.Job` comes in, texts and command lines go out.
"""
