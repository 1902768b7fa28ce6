"""Tokenises the first shards ahead of the training. python prepare.py 3"""
import sys

from corpus import tokenise

for i in range(int(sys.argv[1])):
    print("prepared", tokenise(i))
