"""Images that repeat on a known lattice: positions are (row, column) in pixels, a cell has its vectors in rows."""

from typing import NamedTuple

import numpy as np

from torusgp.kernels.lattices import fold, reduced_basis


class PerforatedPlate(NamedTuple):
    """A made-up photograph from 0 to 1, the same without noise, and its lattice."""

    image: np.ndarray
    noise_free: np.ndarray
    cell: np.ndarray


class LatticeImage(NamedTuple):
    """Sinusoids on a lattice with noise and without, and the lattice as it was given."""

    image: np.ndarray
    signal: np.ndarray
    cell: np.ndarray


def make_perforated_plate(
    shape=(130, 130), spacing=15.3, angle=11.0, *, gradient=0.08, vignette=0.08, noise_std=0.03, colour=False
):
    """A plate with round holes on a tilted hexagonal lattice, unevenly lit, photographed with noise."""
    directions = np.radians(angle) + np.array([0.0, np.pi / 3])
    cell = spacing * np.column_stack([np.cos(directions), np.sin(directions)])
    pixels = np.moveaxis(np.indices(shape), 0, -1)  # (rows, columns, 2)
    around = fold(pixels @ np.linalg.inv(cell), cell)
    steps = np.array([[i, j] for i in (-1, 0, 1) for j in (-1, 0, 1)]) @ cell
    distance = np.linalg.norm(around[..., None, :] - steps, axis=-1).min(axis=-1)
    hole = 0.5 * (1 - np.tanh((distance - 0.31 * spacing) / 1.4))
    position = 2 * pixels / (np.array(shape) - 1) - 1
    lighting = 1 + gradient * position @ np.array([-0.8, 0.6]) - vignette * (position**2).sum(axis=-1)
    metal, dark = np.array([0.75, 0.2])
    if colour:
        hole, lighting = hole[..., None], lighting[..., None]
        metal, dark = np.array([[0.85, 0.72, 0.5], [0.15, 0.2, 0.3]])
    noise_free = np.clip(lighting * (metal + (dark - metal) * hole), 0.0, 1.0)
    noise = noise_std * np.random.default_rng(0).normal(size=noise_free.shape)
    return PerforatedPlate(np.clip(noise_free + noise, 0.0, 1.0), noise_free, cell)


def make_lattice_image(cell, shape=(130, 130), amplitudes=(1.0, 0.5, 0.25), *, noise=1.0):
    """Sinusoids along the two shortest reciprocal vectors, with overtones, random phases, and noise of their size."""
    rng = np.random.default_rng(0)
    dual = np.linalg.inv(cell).T
    short = reduced_basis(dual) @ dual
    candidates = np.array([short[0], short[1], short[0] + short[1], short[0] - short[1]])
    directions = candidates[np.argsort(np.linalg.norm(candidates, axis=1), kind="stable")][:2]
    overtones = np.arange(1, len(amplitudes) + 1)
    frequencies = (overtones[:, None] * directions[:, None, :]).reshape(-1, 2)
    phases = rng.uniform(0, 2 * np.pi, len(frequencies))
    signal = np.cos(2 * np.pi * np.argwhere(np.ones(shape)) @ frequencies.T + phases) @ np.tile(amplitudes, 2)
    signal = signal.reshape(shape)
    return LatticeImage(signal + noise * float(signal.std()) * rng.normal(size=shape), signal, np.asarray(cell))
