import optax


def restarts(peak=3e-3, length=100, cycles=4, growth=40.0):
    """Cosine cycles with warm-up; every cycle starts from a peak of its own."""
    return optax.sgdr_schedule([
        {"init_value": 0.0, "peak_value": peak * growth**n, "warmup_steps": 8, "decay_steps": length, "end_value": peak * 0.05}
        for n in range(cycles)
    ])
