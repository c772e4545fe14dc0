"""torusgp beside what people would otherwise use: accuracy and time on three problems.

``python -m benchmarks.peers`` runs the comparison; ``make bench-peers`` makes the environment it needs first.
"""
