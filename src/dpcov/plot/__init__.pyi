from .eigenvalues import spectrum as spectrum
from .forest import intervals as intervals
from .graph import network as network
from .levels import risk as risk
from .matrix import heatmap as heatmap
