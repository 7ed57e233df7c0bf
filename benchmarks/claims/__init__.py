"""Every figure that README, results/README.md and the documentation tell of accuracy and speed.

Each is computed from the files of results/. Tables that the documentation makes by itself while it
is built are not repeated here.
"""
