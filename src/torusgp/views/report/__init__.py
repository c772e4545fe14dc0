"""A page about a fitted regressor, in one file that needs nothing else: no network, no server.

It says in plain words what was learned and how sure that is, shows the effect of each input, which inputs matter,
how predictions compare with observations, and lists what was learned. Matplotlib draws some of its figures; install it
with ``pip install "torusgp[plot]"``.
"""

from torusgp.views.report._report import render_report, write_report

__all__ = ["render_report", "write_report"]
