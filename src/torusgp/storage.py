"""Files that hold arrays and JSON, without pickle, written as a whole or not at all.

A file is a NumPy ``.npz`` archive: one array for each name, and ``header``, the JSON text of a dictionary with the
keys ``format`` (always "torusgp"), ``kind`` (what is stored), ``version`` (of the layout of that kind) and ``content``
(all that is not an array). The archive's own checksums tell a damaged file.
"""

import json
import os
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np


def save_archive(path, kind, version, content, arrays):
    """Write a file next to its place and move it there, so that no reader ever sees half of it."""
    path = Path(path)
    header = json.dumps({"format": "torusgp", "kind": kind, "version": version, "content": content})
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, header=np.array(header), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load_archive(path, kind, version):
    """Read a file written by :func:`save_archive`.

    Returns
    -------
    content : dict
        What was not an array.
    arrays : dict of ndarray
    """
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop("header")))
        if header["format"] != "torusgp":
            raise ValueError(header["format"])
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise ValueError(f"{path} is not a torusgp file, or it is damaged or cut short ({error}).") from error
    if header["kind"] != kind:
        raise ValueError(f"{path} holds a {header['kind']}, not a {kind}.")
    if header["version"] > version:
        raise ValueError(
            f"{path} was written by a newer version of torusgp (layout {header['version']}, this one reads up to "
            f"{version}): upgrade torusgp to read it."
        )
    return header["content"], arrays
