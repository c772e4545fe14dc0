"""Files of published data: in a folder of the user's, in a cache, or at their source.

pooch is imported when a file is not in the user's folder; install it with ``pip install "torusgp[data]"``.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from torusgp.libraries import require

DATA_FOLDER = "TORUSGP_DATA"  # environment variable with the folder of the user


@dataclass(frozen=True)
class Source:
    """A published file at a fixed version.

    A file without a digest is not downloaded: the note says what has to be done to it.
    """

    name: str
    repository: str
    commit: str
    path: str
    sha256: str | None = None
    note: str = ""

    @property
    def url(self):
        """Address of the file."""
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{self.path}"

    def locate(self):
        """Path of the file in the user's folder, or else in the cache, to which it is downloaded if need be."""
        folder = os.environ.get(DATA_FOLDER)
        if folder:
            if not Path(folder).is_dir():
                raise FileNotFoundError(f"{DATA_FOLDER} is set to {folder!r}, which is not a folder.")
            path = Path(folder, self.name)
            if path.is_file():
                return path
        return self._download(folder)

    def _download(self, folder):
        if self.sha256 is None:
            raise FileNotFoundError(f"{self.name} is not downloaded. {self._advice(folder)}")
        pooch = require("pooch", "data", f"Downloading {self.name} needs", f". Or else: {self._advice(folder)}")
        place = pooch.os_cache("torusgp") / self.name
        try:
            # a file of another digest never reaches the cache, and one that is there is replaced
            return Path(pooch.retrieve(self.url, f"sha256:{self.sha256}", place.name, place.parent))
        except OSError as error:
            raise OSError(f"Cannot download {self.name}: {error}. {self._advice(folder)}") from error
        except ValueError as error:  # pooch's, of a digest that differs
            raise ValueError(
                f"{self.url} is not the file that it should be: its SHA-256 is not {self.sha256}. "
                f"{self._advice(folder)}"
            ) from error

    def _advice(self, folder):
        """Advice where to get the file by other means, and where to put it."""
        if folder:
            place = f"Put the file at {Path(folder, self.name)}, since {DATA_FOLDER} is set to {folder!r}"
        else:
            place = f"Put the file at {self.name} in any folder and set the environment variable {DATA_FOLDER} to that"
        return f"{place}. Its source is {self.url}. {self.note}".rstrip()
