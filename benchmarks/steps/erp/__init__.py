"""An enterprise application of our own as a local web page, in which the way to a goal cannot be seen."""

from benchmarks.steps.erp.erp import Erp

__all__ = ["Erp"]
