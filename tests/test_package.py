from importlib.metadata import version

import torusgp


def test_version():
    assert torusgp.__version__ == version("torusgp")


def test_completion_shows_public_names_alone():
    assert set(dir(torusgp)) == {*torusgp.__all__, "__version__"}
    assert all(hasattr(torusgp, name) for name in dir(torusgp))
