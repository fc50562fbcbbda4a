from .differences import compare as compare
from .eigenvalues import spectrum as spectrum
from .forest import intervals as intervals
from .graph import network as network
from .locations import means as means
from .matrix import heatmap as heatmap
from .thresholds import risk as risk
