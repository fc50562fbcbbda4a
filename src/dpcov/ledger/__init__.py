"""What has been promised about the same people so far: accounts that survive crashes."""

from dpcov.ledger.account import Account
from dpcov.ledger.ledger import Ledger
from dpcov.ledger.receipt import Receipt

__all__ = ["Account", "Ledger", "Receipt"]
