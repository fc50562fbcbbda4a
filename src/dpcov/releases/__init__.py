"""What came through the door: values that are safe to save, send and print."""

from dpcov.releases.release import SECOND_MOMENT, NoiseScale, Provenance, Release

__all__ = ["SECOND_MOMENT", "NoiseScale", "Provenance", "Release"]
