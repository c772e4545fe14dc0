"""The attack on the library, bounded in time and seeded: ``make fuzz``; see :mod:`tests.fuzz.__main__`."""
