"""The only door out: mechanisms turn sensitive sums into releases."""
