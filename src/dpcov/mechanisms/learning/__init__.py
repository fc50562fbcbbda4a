"""Facts of columns that nobody stated: ranges, centers, limits, scales, and lengths of rows.

Each is learned from exact counts with noise that is paid for.
"""
