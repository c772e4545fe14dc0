import numpy as np
import pytest

from torusgp.datasets import make_lattice_image, make_perforated_plate

ROUNDING = 1e-9  # waves over a few hundred turns


class TestPerforatedPlate:
    @pytest.mark.parametrize(("colour", "channels"), [(False, ()), (True, (3,))])
    def test_shape_range_and_seed(self, colour, channels):
        plate = make_perforated_plate((40, 50), colour=colour, noise_std=0.3)
        assert plate.image.shape == plate.noise_free.shape == (40, 50, *channels)
        assert plate.image.min() == 0
        assert plate.image.max() == 1  # with so much noise the ends are reached
        assert 0 < plate.noise_free.min() < plate.noise_free.max() < 1
        again = make_perforated_plate((40, 50), colour=colour, noise_std=0.3)
        np.testing.assert_array_equal(plate.image, again.image)
        other = make_perforated_plate((40, 50), colour=colour, noise_std=0.3, random_state=1)
        np.testing.assert_array_equal(plate.noise_free, other.noise_free)
        assert (plate.image != other.image).any()

    def test_the_cell_is_hexagonal_and_turned(self):
        cell = make_perforated_plate(spacing=12.5, angle=20.0).cell
        np.testing.assert_allclose(np.linalg.norm(cell, axis=1), 12.5)
        assert np.degrees(np.arctan2(cell[0, 1], cell[0, 0])) == pytest.approx(20.0)
        assert cell[0] @ cell[1] == pytest.approx(12.5**2 / 2)

    def test_without_lighting_it_repeats(self):
        plain = {"gradient": 0.0, "vignette": 0.0, "noise_std": 0.0}
        plate = make_perforated_plate((60, 60), spacing=10.0, angle=0.0, softness=0.3, **plain)
        np.testing.assert_allclose(plate.cell, [[10.0, 0.0], [5.0, 10 * np.sqrt(0.75)]], atol=ROUNDING)
        np.testing.assert_allclose(plate.image[10:], plate.image[:-10], atol=ROUNDING)
        assert np.ptp(plate.image) == pytest.approx(0.55, abs=0.01)  # from hole to metal

    def test_holes_are_at_the_lattice_points(self):
        plate = make_perforated_plate((60, 60), spacing=10.0, angle=17.0, noise_std=0.0)
        places = np.array([[i, j] for i in range(-9, 10) for j in range(-9, 10)]) @ plate.cell
        inside = places[((places >= 0) & (places <= 59)).all(axis=1)]
        rows, columns = np.rint(inside).astype(int).T
        assert len(inside) > 30
        assert plate.image[rows, columns].max() < 0.35
        assert plate.image.mean() > 0.5

    def test_lighting_multiplies_the_picture(self):
        plain, sloping, dark_rim = (
            make_perforated_plate(gradient=g, vignette=v, noise_std=0.0).noise_free
            for g, v in ((0.0, 0.0), (0.1, 0.0), (0.0, 0.1))
        )
        slope = sloping / plain
        assert slope[0, -1] == slope.max() == pytest.approx(1 + 0.1 * 1.4)
        assert slope[-1, 0] == slope.min() == pytest.approx(1 - 0.1 * 1.4)
        rim = dark_rim / plain
        np.testing.assert_allclose(rim[[0, 0, -1, -1], [0, -1, 0, -1]], 0.8)  # |r|^2 = 2 in the corners
        assert rim[65, 65] == pytest.approx(1.0, abs=1e-4)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"shape": (10,)}, r"shape must be two positive numbers.*got \(10,\)"),
            ({"shape": (10, 0)}, "shape must be"),
            ({"shape": (10, 2.5)}, "shape must be"),
            ({"spacing": 0.0}, r"spacing must be a positive number, got 0\.0"),
            ({"softness": -1}, "softness"),
            ({"radius": np.nan}, "radius"),
            ({"noise_std": -0.1}, r"noise_std must be zero or a positive number, got -0\.1"),
        ],
    )
    def test_wrong_arguments(self, options, message):
        with pytest.raises(ValueError, match=message):
            make_perforated_plate(**options)


class TestLatticeImage:
    CELL = np.array([[12.0, 1.0], [-2.0, 9.0]])

    def test_the_signal_is_the_sum_of_its_waves(self):
        made = make_lattice_image(self.CELL, (30, 40), noise=0.0)
        np.testing.assert_array_equal(made.image, made.signal)
        assert made.frequencies.shape == (6, 2)
        assert made.amplitudes.tolist() == [1.0, 0.5, 0.25] * 2
        pixels = np.argwhere(np.ones((30, 40)))
        phases = 2 * np.pi * pixels @ made.frequencies.T
        waves = np.column_stack([np.cos(phases), np.sin(phases)])
        weights, *_ = np.linalg.lstsq(waves, made.signal.ravel(), rcond=None)
        np.testing.assert_allclose(waves @ weights, made.signal.ravel(), atol=ROUNDING)
        np.testing.assert_allclose(np.hypot(weights[:6], weights[6:]), made.amplitudes, atol=ROUNDING)

    def test_a_shift_by_a_lattice_vector_changes_nothing(self):
        made = make_lattice_image([[8.0, 3.0], [-2.0, 9.0]], (40, 40), noise=0.0)
        np.testing.assert_allclose(made.signal[8:, 3:], made.signal[:-8, :-3], atol=ROUNDING)

    @pytest.mark.parametrize("hexagonal", [False, True])
    def test_directions_are_the_shortest_of_any_basis(self, hexagonal):
        plain = make_lattice_image(self.CELL, amplitudes=[1.0], hexagonal=hexagonal)
        skewed = make_lattice_image(np.array([[3, 1], [5, 2]]) @ self.CELL, amplitudes=[1.0], hexagonal=hexagonal)
        dual = np.linalg.inv(self.CELL).T
        integers = [[i, j] for i in range(-6, 7) for j in range(-6, 7) if np.gcd(i, j) == 1]
        norms = np.sort(np.linalg.norm(np.array(integers) @ dual, axis=1))[::2]  # k and -k are one
        for made in (plain, skewed):
            found = np.linalg.norm(made.frequencies, axis=1)
            np.testing.assert_allclose(np.sort(found), norms[: 3 if hexagonal else 2], rtol=1e-9)

    def test_a_hexagon_has_three_equal_directions(self):
        plate = make_perforated_plate()
        made = make_lattice_image(plate.cell, amplitudes=[1.0], hexagonal=True)
        lengths = np.linalg.norm(made.frequencies, axis=1)
        np.testing.assert_allclose(lengths, lengths[0])
        assert len(lengths) == 3

    def test_noise_is_relative_to_the_signal(self):
        made = make_lattice_image(self.CELL, noise=0.5)
        assert made.noise_std == pytest.approx(0.5 * made.signal.std())
        assert (made.image - made.signal).std() == pytest.approx(made.noise_std, rel=0.02)  # 16900 pixels
        again = make_lattice_image(self.CELL, noise=0.5)
        np.testing.assert_array_equal(made.image, again.image)

    @pytest.mark.parametrize(
        ("arguments", "options", "message"),
        [
            (([[1.0, 2.0], [2.0, 4.0]],), {}, "not parallel"),
            (([3.0, 4.0],), {}, r"two lattice vectors.*got \[3\.0, 4\.0\]"),
            ((CELL, (0, 5)), {}, "shape must be"),
            ((CELL,), {"amplitudes": []}, "amplitudes"),
            ((CELL,), {"amplitudes": [0.0]}, "not all zero"),
            ((CELL,), {"noise": -1.0}, "noise must be zero or a positive number"),
        ],
    )
    def test_wrong_arguments(self, arguments, options, message):
        with pytest.raises(ValueError, match=message):
            make_lattice_image(*arguments, **options)
