"""What is measured of this package: `python -m benchmarks retrieval | steps | speed`. No part of the wheel."""
