"""Estimators and transformers with the interface of scikit-learn."""
