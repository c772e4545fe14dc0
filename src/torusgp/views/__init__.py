"""Views of fitted models: analysis, losses, plots and reports."""
