"""A page about a model, to open in a browser: complete in itself, without network."""

from torusgp.views.report._axes import Clock
from torusgp.views.report._page import render_page, short_form
from torusgp.views.report._regressors import write_report
from torusgp.views.report._subject import Future, Horizons, Subject

__all__ = ["Clock", "Future", "Horizons", "Subject", "render_page", "short_form", "write_report"]
