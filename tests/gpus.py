"""Marks tests that need a GPU."""

import pytest
import torch

cuda = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="there is no GPU here that torch can use with CUDA"
)
