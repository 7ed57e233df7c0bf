"""What RDKit knows of molecules, as plain arrays."""
