"""What came through the door: values that are safe to save, send and print."""

from dpcov.releases.release import NoiseScale, Provenance, Release

__all__ = ["NoiseScale", "Provenance", "Release"]
