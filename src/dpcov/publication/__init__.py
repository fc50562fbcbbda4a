"""A release and its estimate for readers: one HTML page, a card, a folder to publish.

Costs no privacy; never sees raw rows. The page and the folder need the extra ``publication``.
"""

import lazy_loader

from dpcov.extras import naming_extra

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = naming_extra(
    _load,
    {"jinja2", "matplotlib", "networkx"},
    "Pages need jinja2, matplotlib and networkx: pip install 'dpcov[publication]'",
)
