"""Gaussian-process regression on a torus: the estimator, its files, and fits to data of any size."""

from torusgp.regression._regressor import TorusGPRegressor

__all__ = ["TorusGPRegressor"]
