"""Tables and forecasts: torusgp beside the libraries that people use for them, on published data.

Every method gets the same rows and inputs, the holidays and one thread. Terms are named by hand for the methods that
need them; the same list for all. Data come from the folder that TORUSGP_DATA names.

    python -m benchmarks.peers.tables                          # all, the better part of an hour
    python -m benchmarks.peers.tables --problems tides --methods torusgp prophet
"""
