"""Lattices of images: cells, strain, defects and what is no lattice."""

import json

import numpy as np
import pytest
from scipy.stats import chi2

from tests.images.made_lattices import CELL, atoms, in_basis
from torusgp import find_lattice
from torusgp.images.distortion import Distortion, Polynomials
from torusgp.images.lattices import LatticeNotFoundError
from torusgp.views.plotting import LatticeDisplay


@pytest.fixture(scope="module")
def strained():
    image, strain = atoms(strain=0.01, noise=0.02, missing=(62, 38))
    return find_lattice(image, n_components=201), image, strain


def test_the_cell_of_a_made_image_is_within_its_errors(strained):
    found, _, _ = strained
    true = in_basis(found.cell, CELL)
    assert (np.abs(found.cell - true) < 4 * found.cell_std).all()
    lengths = np.linalg.norm(true, axis=1)
    assert (np.abs(found.lengths - lengths) < 4 * found.lengths_std).all()
    angle = np.degrees(np.arccos(true[0] @ true[1] / lengths.prod()))
    assert abs(found.angle - angle) < 4 * found.angle_std
    assert found.noise_std == pytest.approx(0.02, rel=0.1)  # the missing atom is not in it


def test_errors_of_lengths_and_angle_follow_from_those_of_the_cell(strained):
    found, _, _ = strained
    cells = np.random.default_rng(0).multivariate_normal(found.cell.ravel(), found.cell_covariance, 4000)
    cells = cells.reshape(-1, 2, 2)
    lengths = np.linalg.norm(cells, axis=2)
    angles = np.degrees(np.arccos((cells[:, 0] * cells[:, 1]).sum(axis=1) / lengths.prod(axis=1)))
    np.testing.assert_allclose(lengths.std(axis=0), found.lengths_std, rtol=0.05)
    np.testing.assert_allclose(angles.std(), found.angle_std, rtol=0.05)


def test_a_strain_of_one_percent_is_recovered(strained):
    found, image, strain = strained
    measured, std = found.strain()
    assert measured.shape == (*image.shape, 3)
    np.testing.assert_allclose(measured[..., 0], strain, atol=1e-3)
    np.testing.assert_allclose(measured[..., 1:], 0, atol=1e-3)
    assert (np.abs(measured[..., 0] - strain) < 4 * std[..., 0]).all()
    # what noise alone leaves of the other two is left out, and its errors still hold it
    assert np.median(np.abs(measured[..., 1:])) < 1e-4 < std[..., 1:].mean()
    rotation, rotation_std = found.rotation([[10, 10], [90, 90]])
    assert rotation.shape == rotation_std.shape == (2,)
    assert (np.abs(rotation) < 0.1).all()


def test_a_missing_atom_is_the_largest_defect(strained):
    found, _, _ = strained
    site = np.rint(np.array([62, 38]) @ np.linalg.inv(CELL)) @ CELL
    defect = found.defects()[0]
    assert np.abs(defect.position - site).max() < 3
    assert defect.residual < 0
    assert defect.score > 1.5 * max([5.0, *(other.score for other in found.defects()[1:])])


def test_the_unit_cell_is_the_motif(strained):
    found, _, _ = strained
    cell = found.unit_cell(32)
    assert cell.shape == (32, 32)
    fractions = np.stack(np.meshgrid(*[np.arange(32) / 32] * 2, indexing="ij"), axis=-1)
    fractions = fractions @ in_basis(found.cell, CELL) @ np.linalg.inv(CELL)
    # up to a shift of the origin, which the displacement has
    expected = np.exp(2 * (np.cos(2 * np.pi * fractions) - 1).sum(axis=-1))
    spectra = np.abs(np.fft.fft2(cell)), np.abs(np.fft.fft2(expected))
    np.testing.assert_allclose(spectra[0], spectra[1], atol=0.02 * spectra[1].max())


def test_what_was_found_is_json(strained):
    content = json.loads(json.dumps(strained[0].to_dict(), allow_nan=False))
    assert content["angle"] == pytest.approx(strained[0].angle)
    assert content["strain"]["rows"]["highest"] == pytest.approx(0.005, abs=1e-3)
    assert content["strain"]["rows"]["largest_std"] == pytest.approx(strained[0].strain()[1][..., 0].max())


@pytest.mark.slow
def test_masked_and_coloured_images_have_the_same_lattice():
    image, _ = atoms((52, 52), noise=0.02)
    hidden = np.zeros(image.shape, dtype=bool)
    hidden[20:35, 30:45] = True
    coloured = np.stack([image, 1 - image], axis=-1)
    coloured[20:35, 30:40] = np.nan
    found = find_lattice(coloured, hidden, n_components=61)
    assert (np.abs(found.cell - in_basis(found.cell, CELL)) < 4 * found.cell_std).all()
    assert found.unit_cell(8).shape == (8, 8, 2)
    assert (np.isnan(found.residual) == hidden[..., None]).all()


def test_an_image_without_strain_gets_none():
    found = find_lattice(atoms((60, 60))[0], n_components=61)
    strain, std = found.strain()
    assert np.abs(strain).max() < 1e-6
    assert std.max() > 1e-5  # it is not known that there is none


def test_a_strain_that_noise_hides_is_within_its_errors():
    strain = 0.002 * (np.arange(60) / 59 - 0.5)
    found = find_lattice(atoms((60, 60), strain=0.002, noise=0.1)[0], n_components=61)
    measured, std = found.strain()
    assert np.abs(measured).max() < 1e-6  # not significant
    assert (np.abs(strain) < 2 * std[:, 30, 0] + 1e-6).all()


def test_what_is_no_lattice_is_told():
    rng = np.random.default_rng(0)
    with pytest.raises(LatticeNotFoundError, match="shows no lattice"):
        find_lattice(rng.normal(size=(50, 50)))
    image, _ = atoms((60, 60))
    cases = [
        ((image, np.ones((60, 60), dtype=bool)), {}, "hides the whole image"),
        ((image * np.nan,), {}, "hides the whole image"),
        ((image, np.ones((3, 3), dtype=bool)), {}, "mask must be of bool"),
        ((image[0],), {}, "image must have shape"),
        ((image[:5],), {}, "Too few pixels"),
        ((np.ones((60, 60)),), {}, "constant image"),
        ((image,), {"strain_degree": 9}, "strain_degree"),
    ]
    for arguments, options, message in cases:
        with pytest.raises(ValueError, match=message):
            find_lattice(*arguments, **options)


def test_derivatives_of_polynomials_are_their_differences():
    polynomials = Polynomials((40, 60), 4)
    points = np.random.default_rng(0).uniform(0, 39, (5, 2))
    for d in range(2):
        step = 1e-4 * np.eye(2)[d]
        difference = (polynomials(points + step) - polynomials(points - step)) / 2e-4
        np.testing.assert_allclose(polynomials(points, d), difference, atol=1e-7)


def test_a_distortion_without_its_average_gradient_has_none():
    rng = np.random.default_rng(0)
    plain = Distortion.none((40, 60), 1, 3, 1)
    size = len(plain.displacement)
    root = rng.normal(size=(2 * size, 2 * size))
    distortion = Distortion(
        plain.moving, plain.shading, rng.normal(size=(size, 2)), plain.background, plain.contrast, root @ root.T
    )
    points = rng.uniform(0, 39, (200, 2))
    average, covariance, left = distortion.against_average(points)
    np.testing.assert_allclose(average, distortion.gradient(points)[0].mean(axis=0))
    np.testing.assert_allclose(left.gradient(points)[0].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(left.gradient(points)[0] + average, distortion.gradient(points)[0])
    assert covariance.reshape(4, 4)[0, 0] > 0


# within two standard errors is one number with the probability of 95.4 %; so are four at once within this norm
_TOGETHER = np.sqrt(chi2.ppf(chi2.cdf(4.0, 1), 4))


def _norm(off, covariance):
    return np.sqrt(off @ np.linalg.solve(covariance, off))


def _shown(cell):
    """Lengths and angle of a cell, as a user is told them."""
    lengths = np.linalg.norm(cell, axis=1)
    return np.append(lengths, np.degrees(np.arccos(cell[0] @ cell[1] / lengths.prod())))


@pytest.mark.slow
def test_cells_are_within_two_standard_errors():
    rng = np.random.default_rng(0)
    inside = []
    for seed in range(100):
        angle, lengths = rng.uniform(0, 2 * np.pi), rng.uniform(8, 14, 2)
        between = np.radians(rng.uniform(60, 110))
        cell = lengths[:, None] * np.column_stack([np.cos([angle, angle + between]), np.sin([angle, angle + between])])
        found = find_lattice(atoms((72, 72), cell, noise=0.1, seed=seed)[0], n_components=101)
        true = in_basis(found.cell, cell)
        off = (found.cell - true).ravel()
        errors = np.append(found.lengths_std, found.angle_std)
        inside.append(
            np.concatenate(
                [
                    np.abs(_shown(found.cell) - _shown(true)) < 2 * errors,
                    np.abs(off) < 2 * found.cell_std.ravel(),
                    [_norm(off, found.cell_covariance) < _TOGETHER],
                ]
            )
        )
    # each number that is shown, each entry of the vectors, and all four entries at once
    assert (np.mean(inside, axis=0) >= 0.9).all()


def test_the_lattice_is_drawn(strained):
    display = LatticeDisplay.from_result(strained[0], size=16).plot()
    assert [len(ax.images) for ax in display.axes_] == [1, 0, 1, 1, 1]
    assert "pixels" in display.axes_[0].get_title()
    with pytest.raises(ValueError, match="five axes"):
        display.plot(display.axes_[:2])
