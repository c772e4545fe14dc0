"""Kernels of this package inside the models of other libraries, one module for each; import the one you want.

``torusgp.adapters.torch``
    The feature map as a ``torch.nn.Module``.
``torusgp.adapters.gpytorch``
    A GPyTorch kernel of low rank.
``torusgp.adapters.numpyro``, ``torusgp.adapters.pymc``
    ``prior_linearized``: columns, and the prior standard deviations of their weights.

All take one product of circles, as a ``TorusKernel``, or an expression of circles, lines and lattices.

Nothing is imported here: each module needs its library, and says how to install it where it is missing.
"""
