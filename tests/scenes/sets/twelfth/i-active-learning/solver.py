"""The expensive method: ground state of a 2D grid Hamiltonian by imaginary time, for each structure."""
import sys
import time

import numpy as np

points = np.load(sys.argv[1])
grid = np.linspace(-4, 4, 48)
gx, gy = np.meshgrid(grid, grid)
h = grid[1] - grid[0]
out = []
for a, b, c in points:
    v = 0.5 * ((gx - a) ** 2 + (gy - b) ** 2) + c * np.exp(-(gx**2) - gy**2)
    psi = np.exp(-((gx - a) ** 2) - (gy - b) ** 2)
    began = time.process_time()
    while time.process_time() - began < 0.16:
        lap = (np.roll(psi, 1, 0) + np.roll(psi, -1, 0) + np.roll(psi, 1, 1) + np.roll(psi, -1, 1) - 4 * psi) / h**2
        hpsi = -0.5 * lap + v * psi
        psi = psi - 0.004 * hpsi
        psi /= np.linalg.norm(psi)
    out.append(float((psi * hpsi).sum()))
np.save(sys.argv[2], np.array(out))
