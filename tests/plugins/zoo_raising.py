"""A module that cannot be imported in a worker process."""

import multiprocessing

import torch

if multiprocessing.parent_process() is not None:
    raise SystemExit("not in a worker")


class Norm(torch.nn.Module):
    def __init__(self, dims):
        super().__init__()

    def forward(self, x):
        return x
