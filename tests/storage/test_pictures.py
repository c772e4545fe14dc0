import io
import sys

import numpy as np
import pytest
from PIL import Image

from torusgp.storage.pictures import Picture, encode_std, read_mask, read_picture

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (5, 7), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (5, 7, 3), dtype=np.uint8)
DEEP = RNG.integers(0, 65536, (5, 7), dtype=np.uint16)
FLOAT = RNG.normal(size=(5, 7)).astype(np.float32)
MASK = np.zeros((5, 7), dtype=bool)
MASK[1:3, 2:5] = True


def with_alpha(pixels):
    """Opaque but for two pixels: one transparent, one in part."""
    opacity = np.full((5, 7, 1), 255, dtype=np.uint8)
    opacity[0, 0], opacity[0, 1] = 0, 100
    return np.concatenate([pixels.reshape(5, 7, -1), opacity], axis=2)


def save(path, pixels, **options):
    Image.fromarray(pixels).save(path, **options)
    return path


def decode(data):
    return Image.open(io.BytesIO(data))


class TestRead:
    @pytest.mark.parametrize(
        ("pixels", "suffix"),
        [(GREY, ".png"), (COLOUR, ".png"), (DEEP, ".png"), (DEEP, ".tif"), (FLOAT, ".tif"), (COLOUR, ".bmp")],
        ids=["grey", "colour", "deep", "deep tiff", "float", "bitmap"],
    )
    def test_values_are_the_levels_of_the_file(self, tmp_path, pixels, suffix):
        picture = read_picture(save(tmp_path / f"x{suffix}", pixels))
        assert picture.pixels.dtype == pixels.dtype
        assert picture.shape == (5, 7)
        np.testing.assert_array_equal(picture.values, pixels)
        assert not picture.has_alpha

    @pytest.mark.parametrize("pixels", [GREY, COLOUR], ids=["grey", "colour"])
    def test_only_full_transparency_is_unknown(self, tmp_path, pixels):
        picture = read_picture(save(tmp_path / "x.png", with_alpha(pixels)))
        assert picture.has_alpha
        assert picture.values.shape == pixels.shape
        unknown = np.isnan(picture.values).reshape(5, 7, -1).all(axis=2)
        assert np.argwhere(unknown).tolist() == [[0, 0]]
        np.testing.assert_array_equal(picture.values[~unknown], pixels[~unknown])

    def test_palettes_bilevel_and_colour_keys(self, tmp_path):
        palette = Image.fromarray(COLOUR).quantize(200)
        palette.save(tmp_path / "palette.png")
        expected = np.asarray(palette.convert("RGB"))
        np.testing.assert_array_equal(read_picture(tmp_path / "palette.png").values, expected)
        Image.fromarray(GREY > 100).save(tmp_path / "bilevel.png")
        np.testing.assert_array_equal(read_picture(tmp_path / "bilevel.png").values, 255 * (GREY > 100))
        key = int(GREY[2, 3])
        save(tmp_path / "key.png", GREY, transparency=key)
        np.testing.assert_array_equal(np.isnan(read_picture(tmp_path / "key.png").values), key == GREY)

    def test_a_camera_s_rotation_is_carried_out(self, tmp_path):
        image = Image.fromarray(COLOUR)
        exif = image.getexif()
        exif[0x0112] = 6  # to be turned by a quarter
        image.save(tmp_path / "x.png", exif=exif)
        np.testing.assert_array_equal(read_picture(tmp_path / "x.png").values, np.rot90(COLOUR, -1))

    @pytest.mark.parametrize("content", [b"", b"not an image", None], ids=["empty", "text", "cut short"])
    def test_unreadable(self, tmp_path, content):
        path = tmp_path / "x.png"
        if content is None:
            content = save(path, COLOUR).read_bytes()[:90]
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"Cannot read .*x\.png: it is not an image of a known format, or damaged"):
            read_picture(path)

    def test_missing_and_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"Cannot read .*x\.png: there is no such file"):
            read_picture(tmp_path / "x.png")
        with pytest.raises(OSError, match=r"Cannot read .*: Is a directory"):
            read_picture(tmp_path)

    def test_what_would_lose_something_is_refused(self, tmp_path):
        Image.new("CMYK", (7, 5)).save(tmp_path / "x.tif")
        with pytest.raises(ValueError, match="of the kind CMYK, which is not supported: convert it to RGB or grey"):
            read_picture(tmp_path / "x.tif")
        frames = [Image.fromarray(GREY), Image.fromarray(255 - GREY)]
        frames[0].save(tmp_path / "y.tif", save_all=True, append_images=frames[1:])
        with pytest.raises(ValueError, match="holds 2 images"):
            read_picture(tmp_path / "y.tif")

    def test_deep_colour_is_refused(self, tmp_path):
        (tmp_path / "x.png").write_bytes(deep_colour_png())
        with pytest.raises(ValueError, match="colours of 16 bits, of which Pillow reads 8"):
            read_picture(tmp_path / "x.png")

    def test_without_pillow_the_install_line_is_given(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "PIL", None)
        with pytest.raises(ImportError, match=r'pip install "torusgp\[plot\]"'):
            read_picture(tmp_path / "x.png")


def deep_colour_png():
    """A black PNG of 2 x 2 pixels with 16 bits a channel, which Pillow itself does not write."""
    import struct
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 2, 2, 16, 2, 0, 0, 0)
    rows = zlib.compress(2 * (b"\0" + 12 * b"\0"))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


class TestEncode:
    @pytest.mark.parametrize(
        ("pixels", "name", "mode"),
        [
            (GREY, "x.png", "L"),
            (COLOUR, "x.png", "RGB"),
            (COLOUR, "x.TIFF", "RGB"),
            (DEEP, "x.png", "I;16"),
            (DEEP, "x.tif", "I;16"),
            (FLOAT, "x.tif", "F"),
            (with_alpha(GREY), "x.png", "LA"),
            (with_alpha(COLOUR), "x.png", "RGBA"),
        ],
        ids=["L", "RGB", "RGB tiff", "I;16", "I;16 tiff", "F", "LA", "RGBA"],
    )
    def test_mode_depth_and_all_other_pixels_are_kept(self, pixels, name, mode):
        picture = Picture(pixels)
        values = np.full(picture.values.shape, 17.4)
        image = decode(picture.encode(values, MASK, name))
        assert image.mode == mode
        written = np.asarray(image)
        assert written.dtype == pixels.dtype
        np.testing.assert_array_equal(written[~MASK], pixels[~MASK])
        filled = written[MASK].reshape(MASK.sum(), -1)
        n_colours = filled.shape[1] - picture.has_alpha
        np.testing.assert_allclose(filled[:, :n_colours], 17.4 if pixels.dtype.kind == "f" else 17)
        if picture.has_alpha:
            assert (filled[:, -1] == 255).all()

    def test_values_beyond_the_depth_are_its_ends(self):
        values = np.where(np.arange(7) % 2, -40.0, 300.0) * np.ones((5, 1))
        written = np.asarray(decode(Picture(GREY).encode(values, MASK, "x.png")))
        np.testing.assert_array_equal(written[MASK], np.where(values[MASK] > 0, 255, 0))

    def test_the_colour_profile_is_kept(self, tmp_path):
        save(tmp_path / "x.png", COLOUR, icc_profile=b"profile")
        picture = read_picture(tmp_path / "x.png")
        assert decode(picture.encode(picture.values, MASK, "y.png")).info["icc_profile"] == b"profile"

    @pytest.mark.parametrize(
        ("pixels", "name", "message"),
        [
            (GREY, "x.jpg", r"Cannot write x\.jpg: the name has to end in \.png, \.tif, \.tiff"),
            (GREY, "x", "has to end in"),
            (FLOAT, "x.png", r"Cannot write x\.png: PNG has no float32 pixels; the name has to end in \.tif"),
        ],
    )
    def test_names_that_would_lose_something(self, pixels, name, message):
        with pytest.raises(ValueError, match=message):
            Picture(pixels).encode(pixels.astype(float), MASK, name)

    @pytest.mark.parametrize(
        ("pixels", "name", "suffix"),
        [(GREY, "x.PNG", ".png"), (GREY, "x.jpg", ".png"), (DEEP, "x.tiff", ".tiff"), (FLOAT, "x.png", ".tif")],
    )
    def test_ending_that_loses_nothing(self, pixels, name, suffix):
        assert Picture(pixels).suffix(name) == suffix


class TestMask:
    @pytest.mark.parametrize("mode", ["L", "1", "RGB", "P", "LA", "I;16"])
    def test_what_is_not_zero_is_missing(self, tmp_path, mode):
        levels = np.where(MASK, 3, 0).astype(np.uint16 if mode == "I;16" else np.uint8)
        image = Image.fromarray(MASK) if mode == "1" else Image.fromarray(levels)
        (image if mode in ("1", "I;16") else image.convert(mode)).save(tmp_path / "mask.png")
        np.testing.assert_array_equal(read_mask(tmp_path / "mask.png", (5, 7)), MASK)

    def test_one_channel_is_enough_and_transparent_is_not_missing(self, tmp_path):
        pixels = np.zeros((5, 7, 4), dtype=np.uint8)
        pixels[MASK, 2] = 1
        pixels[..., 3] = 255
        pixels[0, 0] = (255, 255, 255, 0)
        np.testing.assert_array_equal(read_mask(save(tmp_path / "mask.png", pixels), (5, 7)), MASK)

    def test_another_size(self, tmp_path):
        save(tmp_path / "mask.png", GREY)
        with pytest.raises(ValueError, match=r"mask .*mask\.png has 5 x 7 pixels .* but the image 130 x 120"):
            read_mask(tmp_path / "mask.png", (130, 120))


def test_standard_deviations_as_grey():
    content, scale = encode_std(np.array([[0.0, 0.5], [1.0, 2.0]]))
    image = decode(content)
    assert image.mode == "I;16"
    assert image.text["Description"] == scale == "65535 stands for a standard deviation of 2 levels of the image"
    np.testing.assert_array_equal(np.asarray(image), [[0, 16384], [32768, 65535]])
