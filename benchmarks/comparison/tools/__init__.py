"""One module for each tool. It runs in the tool's own environment, and imports numpy and the tool.

``METHODS`` says by which ways the tool comes to correlations. Each takes a `Question` and returns
a matrix of correlations.
"""
