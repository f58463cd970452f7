"""Checks the shapes and types of every call into vtr_core, and keeps torch to one thread."""

import torch
from jaxtyping import install_import_hook

install_import_hook("vtr_core", "beartype.beartype")  # works on modules imported from here on
torch.set_num_threads(1)
