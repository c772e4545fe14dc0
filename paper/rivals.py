"""Rivals on the same holes."""

TITLE = "Rivals on the same holes"


def missing(folder):
    return "not written"


def run(pool, quick, folder):
    raise NotImplementedError


def draw(record):
    return {}


def describe(record):
    return ""
