"""Files that belong together, written all or none."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

_NOT_A_FILE = "It is there already, and is not a file"


def check_places(paths):
    """Raise if files cannot be written to certain places, before work is done that would be lost.

    Parameters
    ----------
    paths : sequence of Path
        Where files are to be written.
    """
    for path in paths:
        check_file_place(path)
        try:
            folder = next(one for one in path.parents if os.path.lexists(one))
            if not folder.is_dir():
                raise OSError(0, f"{folder} is not a folder")
            if not os.access(folder, os.W_OK):
                raise OSError(0, f"{folder} is read-only")
        except OSError as error:
            raise _cannot_write(path, error) from error


def check_file_place(path: str | os.PathLike[str]) -> None:
    """Raise if a file cannot have this name, or would replace what is no regular file: a folder, a device or a pipe."""
    if not os.fspath(path):
        raise OSError("Cannot write a file without a name, got ''. Name one, such as 'model.npz'.")
    place = Path(path)
    try:
        if place.exists() and not place.is_file():
            raise OSError(0, _NOT_A_FILE)
    except OSError as error:
        raise _cannot_write(path, error) from error


def write_together(contents):
    """Write several files; if one of them cannot be written, all are left as they were.

    Each is written next to its place first, and moved there when all of them are complete: no reader ever sees half
    of one. What they replace is kept until the last one has moved.

    Parameters
    ----------
    contents : dict of Path to bytes
        What to write where. Missing folders are created, files that are there are replaced.
    """
    for path in contents:
        check_file_place(path)
    contents = {Path(os.path.realpath(path)): content for path, content in contents.items()}  # a link stays one
    folders: list[Path] = []
    moved: list[Path] = []
    parts = {path: _beside(path, "part") for path in contents}
    olds = {path: _beside(path, "old") for path in contents}
    current = None
    try:
        for current, content in contents.items():
            _make_folder(current.parent, folders)
            parts[current].write_bytes(content)
            if current.exists():
                shutil.copy2(current, olds[current])
        for current in contents:
            parts[current].replace(current)
            moved.append(current)
    except BaseException as error:
        # a step that cannot be undone must not hide why it had to be
        for path in moved:
            with suppress(OSError):
                olds[path].replace(path) if olds[path].exists() else path.unlink()
        _remove([*parts.values(), *olds.values()])
        for folder in reversed(folders):
            with suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError):
            raise _cannot_write(current, error) from error
        raise
    _remove(olds.values())


def _cannot_write(path, error):
    return OSError(f"Cannot write {path}: {error.strerror or error}. Name another place.")


def _beside(path, suffix):
    return path.with_name(f".{path.name}.{os.getpid()}.{suffix}")


def _make_folder(folder, made):
    """Create a folder and those above it; the new ones are added to a list, outermost first."""
    for one in reversed((folder, *folder.parents)):
        if not os.path.lexists(one):
            one.mkdir()
            made.append(one)


def _remove(paths):
    for path in paths:
        with suppress(OSError):
            path.unlink(missing_ok=True)
