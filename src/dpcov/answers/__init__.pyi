from .entry_covariance import EntryCovariance as EntryCovariance
from .exports.export import export as export
from .fit import Fit as Fit
from .fit import Fits as Fits
from .fit import Quality as Quality
from .partials import PartialCorrelation as PartialCorrelation
from .partials import PartialCorrelations as PartialCorrelations
from .terms import Terms as Terms
