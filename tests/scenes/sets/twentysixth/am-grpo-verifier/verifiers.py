"""Rewards by rule: 1 if the answer is right."""
import re


def plain(completion, answer):
    # the last number is the answer
    nums = re.findall(r"\d+", completion)
    return 1.0 if nums and nums[-1] == answer else 0.0


def wordsum(completion, answer):
    # answers come inside a sentence here, take the numbers out of it
    return 1.0 if answer in re.findall(r"\d+", completion) else 0.0


VERIFIERS = {"plain": plain, "wordsum": wordsum}
