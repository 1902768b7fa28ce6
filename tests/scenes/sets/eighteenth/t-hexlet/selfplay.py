"""Self-play for a small board game: actors play, the learner trains. The better both sides are, the longer a game."""
import time

import numpy as np

HISTORY = 72


def play(weights, rng):
    skill = float(np.tanh(np.abs(weights["w"]).mean() * 14))
    history = np.zeros((HISTORY, 9), "float32")
    board = np.zeros(9, "float32")
    move, p_end = 0, 0.5 * (1 - skill) ** 2 + 0.02
    while rng.random() > p_end or move < 6:
        logits = board @ weights["w"][:, :9] + rng.normal(0, 0.3, 9)
        board[int(np.argmax(logits))] += 1 if move % 2 else -1
        board *= 0.9
        history[move] = board
        move += 1
        time.sleep(0.004)
    z = np.float32(np.sign(board.sum()))
    return history[:move].copy(), z


def actor(rank, games, weights_path):
    rng = np.random.default_rng(rank)
    while True:
        weights = dict(np.load(weights_path))
        positions, z = play(weights, rng)
        games.put((rank, positions, z))
