"""What fitted models say: analysis, losses, plots and reports."""
