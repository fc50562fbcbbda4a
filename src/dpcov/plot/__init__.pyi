from .eigenvalues import spectrum as spectrum
from .forest import intervals as intervals
from .graph import network as network
from .matrix import heatmap as heatmap
from .thresholds import risk as risk
