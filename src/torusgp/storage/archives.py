"""Files that hold arrays and JSON, without pickle, written as a whole or not at all.

A file is a NumPy ``.npz`` archive: one array for each name, and ``header``, the JSON text of a dictionary with the
keys ``format`` (always "torusgp"), ``kind`` (what is stored), ``version`` (of the layout of that kind), ``arrays`` (the
names of the arrays) and ``content`` (all that is not an array). The archive's own checksums tell a damaged file.
"""

import glob
import json
import os
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np

_UNFINISHED = ".part"  # end of the names of files that are being written
_RANDOM = "?" * 8  # what tempfile puts before it


def save_archive(path, kind, version, content, arrays):
    """Write a file next to its place and move it there, so that no reader ever sees half of it."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: the folder {path.parent} does not exist.")
    header = json.dumps(
        {"format": "torusgp", "kind": kind, "version": version, "arrays": sorted(arrays), "content": content}
    )
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=_UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, header=np.array(header), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())  # temporary files are for their owner's eyes only
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def remove_leftovers(path):
    """Remove what is left of writes to this file that were killed."""
    for leftover in path.parent.glob(f"{glob.escape(path.name)}.{_RANDOM}{_UNFINISHED}"):
        leftover.unlink(missing_ok=True)


def _umask():
    """Permissions that the user withholds from new files; they can only be read by setting them."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def load_archive(path, kind, version):
    """Read a file written by :func:`save_archive`.

    Returns
    -------
    content : dict
        What was not an array.
    arrays : dict of ndarray
    layout : int
        Version of the layout that the file has.
    """
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop("header")))
        if header["format"] != "torusgp" or header["arrays"] != sorted(arrays):
            raise ValueError("its parts are not those of its header")
    except FileNotFoundError:
        raise
    except (
        ValueError,
        LookupError,
        TypeError,
        EOFError,
        OSError,
        RuntimeError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        # NumPy's own words are not repeated: they advise to unpickle what cannot be read otherwise.
        raise ValueError(f"{path} is not a torusgp file, or it is damaged or cut short.") from error
    if header["kind"] != kind:
        raise ValueError(f"{path} holds a {header['kind']}, not a {kind}.")
    if header["version"] > version:
        raise ValueError(
            f"{path} was written by a newer version of torusgp (layout {header['version']}, this one reads up to "
            f"{version}): upgrade torusgp to read it."
        )
    return header["content"], arrays, header["version"]
