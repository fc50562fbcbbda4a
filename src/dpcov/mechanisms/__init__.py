"""The only way out of `sensitive`: mechanisms turn sensitive sums into releases."""
