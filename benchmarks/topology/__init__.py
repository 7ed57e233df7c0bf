"""What others reach on the sets in which topology and orientation count."""
