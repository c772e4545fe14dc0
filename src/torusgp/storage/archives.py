"""Files that hold arrays and JSON, without pickle, written as a whole or not at all.

A file is a NumPy ``.npz`` archive: one array for each name, and ``header``, the bytes of the JSON text of a dictionary
with the
keys ``format`` (always "torusgp"), ``kind`` (what is stored), ``version`` (of the layout of that kind), ``arrays`` (the
names of the arrays), ``content`` (all that is not an array) and ``digest`` (of all of these). The archive's own
checksums tell a damaged file, the digest one that was altered. A file of another layout is refused: nothing reads it.
"""

from __future__ import annotations

import glob
import hashlib
import io
import json
import os
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from torusgp.storage.files import check_file_place

_UNFINISHED = ".part"  # end of the names of files that are being written
_RANDOM = "?" * 8  # what tempfile puts before it
_ALTERED = (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError)
# NumPy parses the header of an array as Python.
_PARSING = (SyntaxError, tokenize.TokenError)
_UNREADABLE = (*_ALTERED, *_PARSING, ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error)


def save_archive(path, kind, version, content, arrays):
    """Write a file next to its place and move it there, so that no reader ever sees half of it."""
    check_file_place(path)
    path = Path(os.path.realpath(path))  # a link stays one
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: the folder {path.parent} does not exist.")
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    header = {"format": "torusgp", "kind": kind, "version": version, "arrays": sorted(arrays), "content": content}
    header = json.loads(json.dumps(header))  # as it is read again
    header["digest"] = _digest(header, arrays)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=_UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
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
    """Content and arrays of a file written by :func:`save_archive`, in the layout of this version."""
    path = Path(path)
    try:
        arrays = _read_arrays(path)
        header = json.loads(arrays.pop("header").tobytes())
        digest = header.pop("digest", None)
        if header["format"] != "torusgp" or not isinstance(header["version"], int) or "content" not in header:
            raise ValueError("its header is not one of torusgp")
        is_known = header["kind"] == kind and header["version"] == version
        if is_known and (header["arrays"] != sorted(arrays) or digest != _digest(header, arrays)):
            raise ValueError("its parts are not those of its header")
    except FileNotFoundError:
        raise
    except _UNREADABLE as error:
        raise ValueError(f"{path} is not a torusgp file, or it is damaged or cut short.") from error
    if header["kind"] != kind:
        raise ValueError(f"{path} holds a {header['kind']}, not a {kind}.")
    check_layout(path, header["version"], version)
    return header["content"], arrays


def check_layout(path, found, wanted):
    """Raise if a file has another layout than this version of torusgp writes."""
    if found != wanted:
        raise ValueError(
            f"{path} was written by another version of torusgp (its layout is {found}, this version has {wanted}): fit "
            "again, and delete it or name another file."
        )


def archive_kind(path):
    """Kind of a file that :func:`save_archive` wrote; None if it is none."""
    try:
        with np.load(path) as archive:
            return json.loads(archive["header"].tobytes()).get("kind")
    except _UNREADABLE:
        return None


@contextmanager
def decoding(path: Any) -> Iterator[None]:
    """Errors about what a file holds, with its name: it was read, so somebody must have altered it."""
    try:
        yield
    except ValueError as error:
        raise error if str(path) in str(error) else type(error)(f"{path} cannot be read: {error}") from error
    except _ALTERED as error:
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"{path} cannot be read: its parts do not fit together ({what}). Was it altered?") from error


def _digest(header: dict[str, Any], arrays: dict[str, Any]) -> str:
    """Hash of all that a file holds."""
    found = hashlib.blake2b(json.dumps(header, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        found.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode())
        found.update(np.ascontiguousarray(arrays[name]).data)
    return found.hexdigest()


def _read_arrays(path: Path) -> dict[str, Any]:
    """Arrays of an archive, which take no more memory than the file: one that is packed was not written here."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        is_packed = [one.compress_type != zipfile.ZIP_STORED or one.compress_size != one.file_size for one in members]
        if any(is_packed) or sum(one.file_size for one in members) > path.stat().st_size:
            raise ValueError("it is packed")
        names = [one.filename.removesuffix(".npy") for one in members]
        if len(set(names)) < len(names):
            raise ValueError("two parts have one name")
        return {name: _to_array(archive.read(one)) for name, one in zip(names, members, strict=True)}


def _to_array(content: bytes) -> Any:
    """An array from the bytes of a file of NumPy, which have to be as many as its shape says."""
    file = io.BytesIO(content)
    read = np.lib.format.read_array_header_2_0
    if np.lib.format.read_magic(file) == (1, 0):
        read = np.lib.format.read_array_header_1_0
    shape, _, dtype = read(file)
    if dtype.kind not in "biufcU" or int(np.prod(shape, dtype=object)) * dtype.itemsize != len(content) - file.tell():
        raise ValueError(f"an array of {dtype} with shape {shape} has another size")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)
