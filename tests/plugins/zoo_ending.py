"""A module that ends every worker process that imports it."""

import multiprocessing
import os

import torch

if multiprocessing.parent_process() is not None:
    os._exit(4)


class Norm(torch.nn.Module):
    def __init__(self, dims):
        super().__init__()

    def forward(self, x):
        return x
