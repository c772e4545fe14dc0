"""Passes over a source that can be resumed after a crash, counting every row exactly once.

A checkpoint is one file (see :mod:`torusgp.storage.archives`) that holds the sums so far and the number of chunks they
are made of. It is replaced as a whole, so there is always a good one. Before a pass goes on, the chunks that were
counted have to be the same as before: shown by the sizes and times of their files, or else by reading them again and
comparing their digest.
"""

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torusgp.storage.archives import decoding, load_archive, remove_leftovers, save_archive
from torusgp.storage.files import check_places

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

_KIND, _LAYOUT = "Checkpoint", 3
_PATIENCE = 20  # writing takes at most one in this number of seconds
_ADVICE = "Delete that file to start anew, or name another one."


class CheckpointError(ValueError):
    """A checkpoint belongs to something else."""


@contextmanager
def exclusive(path: Any) -> Iterator[None]:
    """Hold a checkpoint for one pass: two that write to one file would undo each other's work.

    The lock is a file beside it. The system frees it when the process ends, however that is.

    Parameters
    ----------
    path : path or None
        File of the checkpoint; None for none.
    """
    if path is None or fcntl is None or not Path(path).parent.is_dir():
        yield
        return
    place = Path(f"{os.path.realpath(path)}.lock")
    handle = _lock(place, path)
    try:
        yield
    finally:
        if handle is not None:
            place.unlink(missing_ok=True)
            os.close(handle)


def _lock(place: Path, path: Any) -> int | None:
    """The open lock file, which nobody else holds; None where there can be none."""
    while True:
        try:
            handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return None  # writing the checkpoint fails, too, and says why
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 20).decode() or "unknown"
            os.close(handle)
            raise CheckpointError(
                f"{path} is in use by another pass (process {holder}): wait until it has ended, or name another file."
            ) from None
        except OSError as error:  # some network file systems have no locks
            warnings.warn(f"{path} cannot be locked ({error}): make sure that one process alone uses it.", stacklevel=5)
            return handle
        if place.exists() and os.path.samestat(os.fstat(handle), place.stat()):
            os.truncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
            return handle
        os.close(handle)  # whoever held it has removed it meanwhile


class Checkpoint:
    """Position of a pass over a source, kept in a file.

    Parameters
    ----------
    path : path
        The file. It is read if it is there.
    seconds : float, default=30.0
        Time between two writes, at least; more if writing takes long.

    Attributes
    ----------
    n_chunks, n_rows : int
        What has been counted.
    content, arrays : dict or None
        What was saved with it; None if there was no file.
    """

    def __init__(self, path, seconds=30.0):
        if not seconds >= 0:
            raise ValueError(f"The seconds between two checkpoints must be at least zero, got {seconds!r}.")
        self.path, self._seconds = Path(path), seconds
        self.n_chunks, self.n_rows = 0, 0
        self.content: Any = None
        self.arrays: Any = None
        self._digest = ""  # that of no chunks
        self._stamps, self._layout = None, None
        check_places([self.path])
        remove_leftovers(self.path)
        if self.path.exists():
            self._load()
        self._written, self._pause = time.monotonic(), seconds

    def _load(self):
        content, self.arrays = load_archive(self.path, _KIND, _LAYOUT)
        with decoding(self.path):
            position, self.content = content["position"], content["saved"]
            self.n_chunks, self.n_rows = position["chunks"], position["rows"]
            if min(self.n_chunks, self.n_rows) < 0:
                raise ValueError(f"the stored position is {position}.")
            self._digest, self._stamps, self._layout = position["digest"], position["stamps"], position["layout"]

    def remaining(self, source, progress=None):
        """Chunks of a source that have not been counted yet.

        Parameters
        ----------
        source : Source
            What is being read. If the files show that what was counted is still the same, it is skipped. If they do
            not, it is read again and compared; an error is raised if it has changed.
        progress : callable, optional
            Takes the number of rows that have been compared.

        Returns
        -------
        iterator of Chunk
        """
        if self.content is not None and self._layout != source.layout():
            raise CheckpointError(
                f"{self.path} was written for other columns: {self._layout}, now they are {source.layout()}. {_ADVICE}"
            )
        stamps = source.stamps(self.n_chunks)
        if self.n_chunks and stamps is not None and stamps == self._stamps:
            return source.chunks(self.n_chunks)
        chunks = iter(source.chunks())
        digest, n_chunks, n_rows = "", 0, 0
        while n_chunks < self.n_chunks:
            chunk = next(chunks, None)
            if chunk is None:
                raise self._changed(f"it ends after {n_chunks}")
            digest = chunk.digest(digest)
            n_chunks, n_rows = n_chunks + 1, n_rows + len(chunk)
            if progress is not None:
                progress(n_rows)
        if digest != self._digest:
            raise self._changed("they are other ones now")
        return chunks

    def _changed(self, how):
        return CheckpointError(
            f"The source is not the one that {self.path} was written for: of that, {self.n_chunks} chunks with "
            f"{self.n_rows} rows were counted, but {how}. {_ADVICE}"
        )

    def count(self, chunks):
        """Note that chunks have been counted."""
        for chunk in chunks:
            self._digest = chunk.digest(self._digest)
            self.n_chunks += 1
            self.n_rows += len(chunk)

    def due(self):
        """True if it is time to write."""
        return time.monotonic() - self._written >= self._pause

    def save(self, source, content, arrays):
        """Write the position and what belongs to it; the file that was there stays if this fails.

        Parameters
        ----------
        source : Source
            What is being read.
        content : dict
            What JSON can hold.
        arrays : dict of ndarray
            The rest.
        """
        position = {
            "chunks": self.n_chunks,
            "rows": self.n_rows,
            "digest": self._digest,
            "stamps": source.stamps(self.n_chunks),
            "layout": source.layout(),
        }
        start = time.monotonic()
        try:
            save_archive(self.path, _KIND, _LAYOUT, {"position": position, "saved": content}, arrays)
        except OSError as error:
            kept = "The last one that was written is intact" if self.path.exists() else "None was written before"
            raise OSError(
                f"The checkpoint {self.path} cannot be written after {self.n_rows} rows: {error.strerror or error}. "
                f"{kept}; make room or name another place, and call again."
            ) from error
        self._written = time.monotonic()
        self._pause = max(self._seconds, _PATIENCE * (self._written - start))
