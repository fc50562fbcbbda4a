"""Answers from a release: regression, errors of all entries together, and exports.

Costs no privacy; never sees raw rows. Every answer comes with its errors, which know how the
errors of all entries of the release go together. Releases have them as methods.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
