"""Transformers whose tokens are the cells of graphs, molecules and meshes."""

import lazy_loader

__version__ = "0.1.0"

# Names are imported on first use (see __init__.pyi), so that the command line answers at once.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
