"""Devices to test on: the CPU always, a GPU where there is one."""

import pytest

GPU = pytest.param("cuda", marks=pytest.mark.gpu)
DEVICES = ["cpu", GPU]


def check_device(device):
    """Skip the test unless PyTorch is installed and the device is there."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    return device
