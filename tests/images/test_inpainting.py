import numpy as np
import pytest

from tests.images.made_images import make_perforated_plate
from torusgp import BayesianFeatureRegressor, IndexSetFourierFeatures, TorusGPRegressor, mean_negative_log_loss
from torusgp.images.inpainting import hole_mask, inpaint, make_lattice_regressor

SHAPE = (60, 50)
HOLE = "20:40,15:35"
PLATE = make_perforated_plate(SHAPE, spacing=11.0)
COLOURED = make_perforated_plate(SHAPE, spacing=11.0, colour=True)
MASK = hole_mask(HOLE, SHAPE)


def given_cell(**options):
    """A regressor that knows the lattice: what is tested here is not the search."""
    return TorusGPRegressor(period=PLATE.cell, n_components=61, **options)


class TestInpaint:
    @pytest.mark.parametrize("image", [PLATE.image, COLOURED.image], ids=["grey", "colour"])
    def test_the_hole_is_filled_and_nothing_else_changes(self, image):
        result = inpaint(200 * image + 30, MASK, given_cell())
        assert result.filled.shape == result.std.shape == image.shape
        np.testing.assert_array_equal(result.filled[~MASK], 200 * image[~MASK] + 30)
        assert (result.std[~MASK] == 0).all()
        assert (result.std[MASK] > 0).all()
        np.testing.assert_array_equal(result.mask, MASK)
        np.testing.assert_array_equal(result.cell, PLATE.cell)
        np.testing.assert_allclose(result.std_map**2, (result.std**2).reshape(*SHAPE, -1).mean(axis=2))
        assert result.cell_std is None
        assert result.seconds > 0
        # a plate without its pattern would be wrong by a third of the range
        assert result.rmse < 0.12

    def test_errors_are_those_of_the_scaled_image(self):
        result = inpaint(200 * PLATE.image + 30, MASK, given_cell())
        known = 200 * PLATE.image[~MASK] + 30
        assert (result.low, result.high) == (known.min(), known.max())
        span = known.max() - known.min()
        truth, mean, std = (v[MASK] / span for v in (result.image, result.filled, result.std))
        assert result.rmse == pytest.approx(np.sqrt(np.mean((truth - mean) ** 2)))
        assert result.mnll == pytest.approx(mean_negative_log_loss(truth, mean, std))
        np.testing.assert_allclose(result.std_map[MASK], result.std[MASK])
        scaled = result.scaled(result.image)[~MASK]
        assert (scaled.min(), scaled.max()) == (0, 1)

    @pytest.mark.parametrize("under", [np.nan, -1e6, 1e6])
    def test_nothing_under_the_mask_is_used(self, under):
        image = PLATE.image.copy()
        image[MASK] = under
        painted, intact = (inpaint(one, MASK, given_cell()) for one in (image, PLATE.image))
        np.testing.assert_array_equal(painted.filled, intact.filled)
        np.testing.assert_array_equal(painted.std, intact.std)
        assert (painted.low, painted.high) == (intact.low, intact.high)
        assert intact.truth_known
        assert not painted.truth_known  # one colour is paint
        assert painted.rmse is None
        assert painted.mnll is None

    def test_truth_may_be_known_in_part_or_be_refused(self):
        image = PLATE.image.copy()
        image[20:30] = np.where(MASK[20:30], np.nan, image[20:30])
        part = inpaint(image, MASK, given_cell())
        below = MASK.copy()
        below[:30] = False
        error = part.scaled(part.filled)[below] - part.scaled(image)[below]
        assert part.rmse == pytest.approx(np.sqrt(np.mean(error**2)))
        assert not inpaint(PLATE.image, MASK, given_cell(), truth=False).truth_known

    def test_without_a_mask_the_hole_is_where_nothing_is_known(self):
        image = np.where(MASK[..., None], np.nan, COLOURED.image)
        by_nan, by_mask = inpaint(image, None, given_cell()), inpaint(COLOURED.image, MASK, given_cell())
        np.testing.assert_array_equal(by_nan.mask, MASK)
        np.testing.assert_array_equal(by_nan.filled, by_mask.filled)
        assert not by_nan.truth_known

    def test_unknown_pixels_outside_the_mask_are_neither_used_nor_filled(self):
        image = PLATE.image.copy()
        image[:5] = np.nan
        result = inpaint(image, MASK, given_cell())
        assert np.isnan(result.filled[:5]).all()
        assert np.isfinite(result.filled[5:]).all()
        assert result.estimator.n_samples_seen_ == (~MASK).sum() - 5 * SHAPE[1]

    def test_equal_channels_are_one(self):
        three = np.repeat(PLATE.image[..., None], 3, axis=2)
        coloured, grey = inpaint(three, MASK, given_cell()), inpaint(PLATE.image, MASK, given_cell())
        assert np.ndim(coloured.estimator.noise_variance_) == 0
        np.testing.assert_array_equal(coloured.filled, np.repeat(grey.filled[..., None], 3, axis=2))
        assert coloured.rmse == pytest.approx(grey.rmse)
        assert coloured.mnll == pytest.approx(grey.mnll)
        np.testing.assert_allclose(coloured.std_map, grey.std_map)

    def test_other_regressors_have_no_cell(self):
        features = IndexSetFourierFeatures(period=PLATE.cell, length_scale=0.5, n_components=61)
        result = inpaint(PLATE.image, MASK, BayesianFeatureRegressor(features))
        assert result.cell is None
        assert result.rmse < 0.12

    @pytest.mark.parametrize(
        ("image", "mask", "message"),
        [
            (PLATE.image[0], MASK, r"image must have shape .* got \(50,\)"),
            (PLATE.image, MASK[:9], r"mask must be of bool and of shape \(60, 50\), got bool of shape \(9, 50\)"),
            (PLATE.image, MASK.astype(int), "mask must be of bool"),
            (PLATE.image, np.zeros(SHAPE, bool), "No pixel is missing: the mask hides nothing"),
            (PLATE.image, None, "No pixel is missing"),
            (PLATE.image, np.ones(SHAPE, bool), "No pixel is known: the mask hides the whole image"),
            (np.full(SHAPE, 0.25), MASK, r"All known pixels have the value 0\.25: in a constant image nothing repeats"),
            (np.where(MASK, PLATE.image, np.nan)[:30], MASK[:30], "Too few pixels are known: 0"),
            (PLATE.image, np.arange(3000).reshape(SHAPE) >= 99, "Too few pixels are known: 99, in 2 rows"),
            (PLATE.image[:7], MASK[14:21], "Too few pixels are known: .* in 7 rows and 50 columns"),
        ],
    )
    def test_wrong_arguments(self, image, mask, message):
        with pytest.raises(ValueError, match=message):
            inpaint(image, mask, given_cell())


class TestHole:
    def test_slices_are_half_open(self):
        expected = np.zeros(SHAPE, dtype=bool)
        expected[2:5, 0:50] = True
        np.testing.assert_array_equal(hole_mask("2:5,0:50", SHAPE), expected)
        np.testing.assert_array_equal(hole_mask(" 2:5 , 0:50 ", SHAPE), expected)

    @pytest.mark.parametrize("text", ["", "2:5", "2:5,0", "2:5,:", "-2:5,0:5", "2:5,0:5,1:2", "2-5,0-5", "a:b,c:d"])
    def test_malformed(self, text):
        with pytest.raises(ValueError, match=r"is not of the form r0:r1,c0:c1, as in 32:96,32:96"):
            hole_mask(text, SHAPE)

    @pytest.mark.parametrize("text", ["5:5,0:5", "6:5,0:5", "0:5,3:3"])
    def test_empty(self, text):
        with pytest.raises(ValueError, match=f"The hole '{text}' holds no pixel"):
            hole_mask(text, SHAPE)

    @pytest.mark.parametrize("text", ["0:61,0:5", "0:5,40:51", "100:110,0:5"])
    def test_outside(self, text):
        with pytest.raises(ValueError, match=r"beyond the image, which has 60 rows and 50 columns.* is 0:60,0:50"):
            hole_mask(text, SHAPE)


class TestLatticeRegressor:
    def test_what_is_learned(self):
        assert make_lattice_regressor(33).get_params()["n_components"] == 33
        assert "lattice" in make_lattice_regressor().learn

    def test_the_lattice_is_found_and_its_error_known(self):
        plate, mask, lines = make_perforated_plate((40, 40), spacing=9.0), hole_mask("14:24,12:22", (40, 40)), []
        result = inpaint(plate.image, mask, make_lattice_regressor(61, verbose=lines.append))
        # another basis of the same lattice: the change of basis is a matrix of integers of determinant one
        change = result.cell @ np.linalg.inv(plate.cell)
        np.testing.assert_allclose(change, np.rint(change), atol=0.02)
        assert abs(np.linalg.det(np.rint(change))) == pytest.approx(1.0)
        assert result.cell_std.shape == (2, 2)
        assert (np.abs(result.cell - np.rint(change) @ plate.cell) < 5 * result.cell_std).all()
        given = inpaint(plate.image, mask, TorusGPRegressor(period=plate.cell, n_components=61))
        assert result.rmse < given.rmse  # which does not follow the lighting
        assert lines
        assert all(isinstance(line, str) for line in lines)

    def test_noise_has_no_lattice(self):
        noise = np.random.default_rng(0).normal(size=SHAPE)
        with pytest.raises(ValueError, match="repeat"):
            inpaint(noise, MASK, make_lattice_regressor(101))
