CFG = {
    "seed": 4,
    "atoms": 6,
    "cycle": 400,
    "peaks": [3e-3, 4.0, 3e-3, 3e-3, 2e-3, 2e-3, 1e-3, 5e-4],
}
