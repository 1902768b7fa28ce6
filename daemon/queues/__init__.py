"""Queues: cells of a file, executed one after another or one per GPU, each once.

The file is read by :mod:`.cells`; what was done stands in a journal (:mod:`.journal`), from which
:mod:`.roster` computes where each cell is; :mod:`.runner` is the process that starts them.
"""
