"""The report of a run: one page that can be looked at anywhere."""
