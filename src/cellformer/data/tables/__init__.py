"""Tables with a column of SMILES."""
