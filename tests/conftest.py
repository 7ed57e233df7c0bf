"""Shapes written in signatures are checked while tests run."""

from jaxtyping import install_import_hook

install_import_hook("cellformer", "beartype.beartype")
