"""The cellular transformer: diagram, embedding, layers, readout."""
