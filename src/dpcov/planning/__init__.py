"""What can be learned, before any data is touched: `dpcov.plan`."""

from dpcov.planning.forecast import Forecast, plan

__all__ = ["Forecast", "plan"]
