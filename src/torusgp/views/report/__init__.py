"""A page about a model, to open in a browser: complete in itself, without network."""

from torusgp.views.report._regressors import write_report

__all__ = ["write_report"]
