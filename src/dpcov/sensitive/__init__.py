"""The rooms that see raw rows. Nothing here is safe to publish."""
