"""The service: a collection over HTTP, and the page on which people answer."""
