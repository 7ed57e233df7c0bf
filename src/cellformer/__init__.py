"""Transformers whose tokens are the cells of graphs, molecules and meshes."""

import os

import lazy_loader

__version__ = "0.1.0"

if not os.access(os.path.dirname(__file__), os.W_OK):
    from cellformer.basics.cache import keep_compiled_code

    keep_compiled_code()

# Names are imported on first use (see __init__.pyi), so that the command line answers at once.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
