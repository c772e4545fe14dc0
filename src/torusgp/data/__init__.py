"""Rows and where they come from: arrays, files, streams, Dask collections and data sets."""
