import gzip
import hashlib
import os
import sys
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from zoneinfo import ZoneInfo

import numpy as np
import pooch
import pytest
from PIL import Image

from torusgp.data.datasets import (
    _electricity,
    _lithium,
    _textures,
    load_electricity_demand,
    load_lithium_density,
    load_texture,
)
from torusgp.data.datasets._sources import DATA_FOLDER, Source

CSV_ROUNDING = 6e-6  # the calendar has five digits behind the point


LOADERS = {
    "textures/tread.png": partial(load_texture, "tread"),
    "vic_elec/vic_elec.csv.gz": load_electricity_demand,
    "lithium_density/CHGCAR.gz": load_lithium_density,
}
CELL = np.array([[3.0, 0.1, 0.0], [-1.0, 2.8, 0.2], [-1.0, -1.4, 2.5]])


def demand_lines():
    """Header and lines of a made-up file of the right form."""
    times = np.datetime64("2011-12-31T13:00") + 30 * np.arange(52608).astype("timedelta64[m]")
    line = "{}Z,{:.1f},{:.5f},{:.5f},{:.3f},{:.2f},{}"
    hours = np.arange(52608) / 2
    columns = (hours % 24, (6 + hours / 24) % 7, hours / 24 % 365, 4000 + hours, 20 + hours % 7)
    rows = [line.format(*row, i % 2) for i, row in enumerate(zip(times, *columns, strict=True))]
    return ["time_utc,hour_of_day,day_of_week,day_of_year,demand_MW,temperature_C,holiday", *rows]


def density_lines(scaled, factor=2.0, elements="Li", numbers="1"):
    """Lines of a file CHGCAR with the density times the volume, the first axis fastest."""
    vectors = [" ".join(f"{x:.12f}" for x in row / factor) for row in CELL]
    atoms = ["  0.0  0.0  0.0"] * sum(map(int, numbers.split()))
    values = [f"{x:.11E}" for x in scaled.ravel(order="F")]
    rows = [" ".join(values[i : i + 5]) for i in range(0, len(values), 5)]
    header = ["a title", f"  {factor}", *vectors, f" {elements}", f" {numbers}", "Direct", *atoms, ""]
    return [*header, " ".join(map(str, scaled.shape)), *rows, "augmentation occupancies   1  15", "  0.27 -0.33"]


def write_lines(lines, path):
    path.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


@pytest.fixture(scope="session")
def demand_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("demand") / "demand.csv.gz"
    write_lines(demand_lines(), path)
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of data that the environment names, and no way to the network."""

    def no_network(*arguments, **options):
        raise AssertionError("pooch must not be called")

    monkeypatch.setenv(DATA_FOLDER, str(tmp_path))
    monkeypatch.setattr(pooch, "retrieve", no_network)
    for name in LOADERS:
        (tmp_path / name).parent.mkdir(parents=True)
    return tmp_path


def scaled_density():
    rng = np.random.default_rng(0)
    scaled = rng.uniform(0.5, 1.5, (32, 32, 32))
    return scaled / scaled.mean()


class TestTexture:
    @pytest.mark.parametrize("channels", [(), (3,)])
    def test_grey_from_zero_to_one_and_the_hole(self, folder, channels):
        grey = np.random.default_rng(0).integers(20, 200, (130, 130), dtype=np.uint8)
        grey[0, :2] = 20, 200
        pixels = grey if not channels else np.repeat(grey[..., None], 3, axis=2)
        Image.fromarray(pixels).save(folder / "textures/tread.png")
        texture = load_texture("tread")
        np.testing.assert_allclose(texture.image, (grey - 20.0) / 180, rtol=1e-14)
        assert texture.hole.sum() == 65 * 65
        assert texture.hole[32:97, 32:97].all()

    def test_split_covers_the_image_once(self, folder):
        pixels = np.random.default_rng(0).integers(0, 256, (130, 130), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "textures/tread.png")
        texture = load_texture("tread")
        X_train, X_test, y_train, y_test = texture.split()
        assert (X_train.shape, X_test.shape) == ((12675, 2), (4225, 2))
        assert (X_test.min(), X_test.max()) == (32, 96)
        again = np.full((130, 130), np.nan)
        for X, y in ((X_train, y_train), (X_test, y_test)):
            again[tuple(X.astype(int).T)] = y
        np.testing.assert_array_equal(again, texture.image)

    @pytest.mark.parametrize(
        ("pixels", "message"),
        [
            (np.eye(128, dtype=np.uint8), r"tread.png is not the texture 'tread': it has \(128, 128\) pixels"),
            (np.full((130, 130), 7, dtype=np.uint8), "equally bright"),
            (np.random.default_rng(0).integers(0, 256, (130, 130, 3), dtype=np.uint8), "has colours"),
        ],
        ids=["size", "constant", "colours"],
    )
    def test_another_image_is_refused(self, folder, pixels, message):
        Image.fromarray(pixels).save(folder / "textures/tread.png")
        with pytest.raises(ValueError, match=message):
            load_texture("tread")

    def test_unknown_names_are_refused(self):
        with pytest.raises(ValueError, match=r"one of 'pores', 'rubber', 'tread', got 'grass'\."):
            load_texture("grass")


class TestElectricityDemand:
    def test_columns_and_split(self, folder, demand_file):
        (folder / "vic_elec/vic_elec.csv.gz").write_bytes(demand_file)
        data = load_electricity_demand()
        assert data.time.dtype == np.dtype("datetime64[m]")
        assert data.time[2] == np.datetime64("2011-12-31T14:00")
        assert data.hour_of_day[:3].tolist() == [0.0, 0.5, 1.0]
        assert data.demand[:3].tolist() == [4000.0, 4000.5, 4001.0]
        assert data.temperature[2] == 21.0
        assert data.holiday[:3].tolist() == [False, True, False]
        X_train, X_test, y_train, y_test = data.split()
        assert (X_train.shape, X_test.shape) == ((35088, 3), (17520, 3))
        np.testing.assert_array_equal(np.concatenate([y_train, y_test]), data.demand)
        whole = np.column_stack([data.hour_of_day, data.day_of_week, data.day_of_year])
        np.testing.assert_array_equal(np.vstack([X_train, X_test]), whole)
        assert (whole.max(axis=0) < data.period).all()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda lines: lines[1:], "must begin with the columns time_utc,hour_of_day.*got '2011"),
            (lambda lines: lines[:-1], "must have 52608 lines of 7 values below its first, got 52607"),
            (lambda lines: [*lines[:-1], lines[-1] + ",1"], "lines of 7 values"),
            (lambda lines: [*lines[:-1], lines[-1].replace(".", "?")], "no number or time.*could not convert"),
            (lambda lines: [*lines[:-1], "x" + lines[-1]], "no number or time"),
            (lambda lines: [*lines[:-1], lines[-2]], "must be every half hour from 2011-12-31T13:00Z on"),
            (lambda lines: [*lines[:-1], lines[-1][:-1] + "2"], "holidays as 0 or 1"),
            (lambda lines: [line.replace(",23.5,", ",24.0,") for line in lines], r"hour_of_day of .* in \[0, 24\)"),
            (lambda lines: [], "must begin with the columns.*got ''"),
        ],
        ids=["header", "short", "wide", "number", "time", "repeated", "holiday", "hour", "empty"],
    )
    def test_other_content_is_refused(self, folder, demand_file, change, message):
        lines = gzip.decompress(demand_file).decode().splitlines()
        write_lines(change(lines), folder / "vic_elec/vic_elec.csv.gz")
        with pytest.raises(ValueError, match=message):
            load_electricity_demand()


class TestLithiumDensity:
    def test_density_cell_and_order_of_the_axes(self, folder):
        scaled = scaled_density()
        write_lines(density_lines(scaled), folder / "lithium_density/CHGCAR.gz")
        lithium = load_lithium_density()
        np.testing.assert_allclose(lithium.cell, CELL, atol=1e-11)
        assert lithium.volume == pytest.approx(abs(np.linalg.det(CELL)), rel=1e-10)
        np.testing.assert_allclose(lithium.density * lithium.volume, scaled, rtol=1e-9)

    def test_grid_points_are_in_the_order_of_the_density(self, folder):
        fractions = np.indices((32, 32, 32)) / 32
        wave = 1 + 0.5 * np.cos(2 * np.pi * (fractions[0] - 2 * fractions[1] + 3 * fractions[2]))
        write_lines(density_lines(wave), folder / "lithium_density/CHGCAR.gz")
        lithium = load_lithium_density()
        values = 1 + 0.5 * np.cos(2 * np.pi * lithium.fractional @ [1, -2, 3])
        np.testing.assert_allclose(lithium.density.ravel() * lithium.volume, values, rtol=1e-9)
        np.testing.assert_allclose(lithium.positions @ np.linalg.inv(lithium.cell), lithium.fractional, atol=1e-12)

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            (["only a title"], "not a file CHGCAR of VASP, or incomplete"),
            (density_lines(scaled_density())[:1000], r"\(32, 32, 32\) needs 32768 finite values, got 49\d\d"),
            (density_lines(np.where(np.indices((32, 32, 32))[0], 1.0, np.nan)), "finite values"),
            (density_lines(np.ones((32, 32, 16))), r"not the density of lithium.*on a grid of \(32, 32, 16\)"),
            (density_lines(2 * np.ones((32, 32, 32))), r"it has 2\.000 electrons of Li"),
            (density_lines(np.ones((32, 32, 32)), elements="Na Cl", numbers="1 1"), "electrons of Na Cl"),
            ([*density_lines(np.ones((32, 32, 32)))[:10], "32 32"], "line 11 should be the shape of the grid"),
            (["title", "1.0", "1 0", "0 1", "1 1", "Li", "1"], "lines 3 to 5 should be lattice vectors"),
        ],
        ids=["title", "short", "nan", "grid", "electrons", "elements", "shape", "vectors"],
    )
    def test_other_content_is_refused(self, folder, lines, message):
        write_lines(lines, folder / "lithium_density/CHGCAR.gz")
        with pytest.raises(ValueError, match=message):
            load_lithium_density()


@pytest.mark.parametrize("name", LOADERS)
class TestFiles:
    @pytest.mark.parametrize(
        "content",
        [b"", b"not what it should be", gzip.compress(b"cut short" * 99)[:-12]],
        ids=["empty", "other", "cut"],
    )
    def test_damaged_files_are_refused_by_name(self, folder, name, content):
        (folder / name).write_bytes(content)
        with pytest.raises(ValueError, match=Path(name).name):
            LOADERS[name]()

    def test_flipped_bytes_are_refused(self, folder, name, demand_file):
        whole = bytearray(demand_file)
        whole[2000:2100] = bytes(100)
        (folder / name).write_bytes(whole)
        with pytest.raises(ValueError, match=Path(name).name):
            LOADERS[name]()

    def test_a_variable_that_names_no_folder_is_told(self, name, tmp_path, monkeypatch):
        monkeypatch.setenv(DATA_FOLDER, str(tmp_path / "missing"))
        with pytest.raises(FileNotFoundError, match=r"TORUSGP_DATA is set to '.*missing', which is not a folder"):
            LOADERS[name]()

    @pytest.mark.parametrize("is_set", [True, False])
    def test_without_data_and_network_one_message_says_what_to_do(self, name, is_set, tmp_path, monkeypatch):
        def offline(*arguments, **options):
            raise ConnectionError("no network")

        monkeypatch.setattr(pooch, "retrieve", offline)
        monkeypatch.delenv(DATA_FOLDER, raising=False)
        if is_set:
            monkeypatch.setenv(DATA_FOLDER, str(tmp_path))
        with pytest.raises(OSError, match=DATA_FOLDER) as caught:
            LOADERS[name]()
        message = str(caught.value)
        assert (str(tmp_path / name) if is_set else name) in message
        assert "https://raw.githubusercontent.com/" in message
        assert ("no network" in message) != ("is not downloaded" in message)


def test_without_pooch_the_install_line_is_given(monkeypatch):
    monkeypatch.delenv(DATA_FOLDER, raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r'pip install "torusgp\[data\]"\. Or else: .*TORUSGP_DATA'):
        load_texture("pores")
    with pytest.raises(FileNotFoundError, match="is not downloaded"):
        load_electricity_demand()


def test_sources_are_pinned():
    sources = [*_textures.SOURCES.values(), _electricity.SOURCE, _lithium.SOURCE]
    for source in sources:
        assert len(bytes.fromhex(source.commit)) == 20
        assert source.url.endswith(f"/{source.commit}/{source.path}")
        assert (source.sha256 is None) == (source is _electricity.SOURCE)
        assert source.sha256 is None or len(bytes.fromhex(source.sha256)) == 32


class LocalSource(Source):
    """The same file on a server on this machine, whose address is in the place of the repository."""

    @property
    def url(self):
        return f"{self.repository}/{self.path}"


class Server(SimpleHTTPRequestHandler):
    requests: list[str]

    def log_message(self, format, *args):
        self.requests.append(self.path)


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A file on a server on this machine, and a cache of its own."""
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "there.txt").write_bytes(b"the right content")
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv(DATA_FOLDER, raising=False)
    monkeypatch.setattr(Server, "requests", [], raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=tmp_path / "served"))
    thread = Thread(target=server.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    yield LocalSource("set/here.txt", address, "", "there.txt", hashlib.sha256(b"the right content").hexdigest())
    server.shutdown()
    thread.join()
    server.server_close()


class TestDownload:
    def test_once_and_then_from_the_cache(self, source, tmp_path):
        path = source.locate()
        assert path == tmp_path / "cache" / "torusgp" / "set" / "here.txt"
        assert path.read_bytes() == b"the right content"
        assert source.locate() == path
        assert len(Server.requests) == 1

    def test_a_damaged_file_in_the_cache_is_replaced(self, source):
        path = source.locate()
        path.write_bytes(b"damaged")
        assert source.locate().read_bytes() == b"the right content"

    def test_the_folder_comes_first_and_the_cache_where_it_lacks_the_file(self, source, tmp_path, monkeypatch):
        monkeypatch.setenv(DATA_FOLDER, str(tmp_path))
        assert source.locate().parent.parent.parent.name == "cache"
        (tmp_path / "set").mkdir()
        (tmp_path / "set" / "here.txt").write_bytes(b"mine")
        assert source.locate() == tmp_path / "set" / "here.txt"

    def test_another_content_is_refused_and_not_kept(self, source, tmp_path):
        (tmp_path / "served" / "there.txt").write_bytes(b"another content")
        with pytest.raises(ValueError, match=f"its SHA-256 is not {source.sha256}.*TORUSGP_DATA"):
            source.locate()
        assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]

    def test_a_file_that_is_gone_is_told(self, source):
        with pytest.raises(OSError, match=r"Cannot download set/here.txt: 404.*TORUSGP_DATA.*gone.txt"):
            replace(source, path="gone.txt").locate()


# --- published data: the files themselves -----------------------------------------------------------------------


def published(name):
    folder = os.environ.get(DATA_FOLDER)
    there = folder is not None and (Path(folder) / name).is_file()
    return pytest.mark.skipif(not there, reason=f"{DATA_FOLDER} names no folder with {name}")


class TestPublished:
    @pytest.mark.parametrize(
        ("name", "row", "column", "values"),
        [
            pytest.param(name, *rest, marks=published(f"textures/{name}.png"))
            # the first or last of the pixels to predict, in the papers' CSV files, where grey goes from -1 to 1
            for name, *rest in (
                ("pores", 32, 32, [-0.56078431, -0.54509804, -0.31764704]),
                ("rubber", 96, 94, [-0.25506072, -0.19838056, -0.27935221]),
                ("tread", 96, 94, [0.37795279, 0.30708666, 0.36220476]),
            )
        ],
    )
    def test_textures_are_those_of_the_papers(self, name, row, column, values):
        texture = load_texture(name)
        np.testing.assert_allclose(2 * texture.image[row, column : column + 3] - 1, values, atol=1e-7)  # float32
        assert (texture.image.min(), texture.image.max()) == (0, 1)
        digest = hashlib.sha256(_textures.SOURCES[name].locate().read_bytes()).hexdigest()
        assert digest == _textures.SOURCES[name].sha256

    @published("vic_elec/vic_elec.csv.gz")
    def test_the_calendar_is_that_of_clocks_in_victoria(self):
        data = load_electricity_demand()
        zone, utc = ZoneInfo("Australia/Melbourne"), ZoneInfo("UTC")
        for i in range(0, 52608, 97):  # every time of the day, and days with summer time and without
            local = data.time[i].item().replace(tzinfo=utc).astimezone(zone)
            hour = local.hour + local.minute / 60
            n_days = 366 if local.year == 2012 else 365
            yearday = local.timetuple().tm_yday - 1 + hour / 24
            assert data.hour_of_day[i] == hour
            assert data.day_of_week[i] == pytest.approx(local.weekday() + hour / 24, abs=CSV_ROUNDING)
            assert data.day_of_year[i] == pytest.approx(yearday * 365.25 / n_days, abs=CSV_ROUNDING)

    @published("vic_elec/vic_elec.csv.gz")
    def test_demand(self):
        data = load_electricity_demand()
        X_train, X_test, y_train, y_test = data.split()
        assert (len(y_train), len(y_test)) == (35088, 17520)
        assert X_test[0].tolist() == [0.0, 2.0, 0.0]  # New Year's Day 2014 was a Wednesday
        assert data.demand[0] == 4382.825
        assert data.holiday.sum() == 31 * 48
        assert -5 < data.temperature.min() < data.temperature.max() < 50
        night, evening = (np.mean(y_train[X_train[:, 0] == hour]) for hour in (4, 18))
        assert night < 0.8 * evening

    @published("lithium_density/CHGCAR.gz")
    def test_lithium(self):
        lithium = load_lithium_density()
        assert lithium.density.mean() * lithium.volume == pytest.approx(1.0, abs=5e-4)
        np.testing.assert_allclose(lithium.cell[0], [2.969072, -0.000523, -0.000907])
        lengths = np.linalg.norm(lithium.cell, axis=1)
        cosines = (lithium.cell @ lithium.cell.T) / np.outer(lengths, lengths)
        np.testing.assert_allclose(cosines[np.triu_indices(3, 1)], -1 / 3, atol=2e-3)  # nearly body-centred cubic
        # as pymatgen reads them
        places, values = ([0, 1, 3, 15], [0, 2, 6, 8], [0, 4, 10, 24]), [0.0218688, 0.0249040, 0.0384746, 0.0546423]
        np.testing.assert_allclose(lithium.density[places], values, atol=5e-8)
        assert hashlib.sha256(_lithium.SOURCE.locate().read_bytes()).hexdigest() == _lithium.SOURCE.sha256

    @published("lithium_density/CHGCAR.gz")
    def test_lithium_has_the_symmetry_of_its_crystal(self):
        density = load_lithium_density().density
        inverted = np.roll(density[::-1, ::-1, ::-1], 1, axis=(0, 1, 2))
        assert np.abs(inverted - density).max() < 1e-6 * density.max()
        cyclic = density.transpose(1, 2, 0)  # the threefold axis along the sum of the lattice vectors
        assert np.abs(cyclic - density).max() < 0.02 * density.max()
