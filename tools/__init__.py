"""Long campaigns against the package, run by hand or by CI: see README.md."""
