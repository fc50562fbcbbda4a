"""Writing so that nothing is lost: names aside, one writer at a time, bytes that stay.

Knows files and folders, and nothing of what is in them. A room that writes says what it
writes and what it may replace; this one says how.
"""

from __future__ import annotations

from dpcov.writing.apart import check_apart
from dpcov.writing.durable import give_free_name, replacing_file, sync_file, sync_folder
from dpcov.writing.names import Target, find_leftovers, locate_target
from dpcov.writing.reservation import Reservation, is_reserved, reserve
from dpcov.writing.signals import uninterrupted

__all__ = [
    "Reservation",
    "Target",
    "check_apart",
    "find_leftovers",
    "give_free_name",
    "is_reserved",
    "locate_target",
    "replacing_file",
    "reserve",
    "sync_file",
    "sync_folder",
    "uninterrupted",
]
