"""Exports of a release for other programs: one module for each format, and a registry.

What is exported is post-processing of what was released, and costs no privacy. Each file says
whether its numbers are those of the release or of the estimate, and of which promise they are.
"""
