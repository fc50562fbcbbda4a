"""How near estimates come to known truths."""
