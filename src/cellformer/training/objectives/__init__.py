"""What is learned of the complexes themselves, beside their targets."""
