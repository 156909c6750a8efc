"""The import of torch, which only this room needs: an extra, named where it is missing."""

from __future__ import annotations

try:
    import torch
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "maxmargin.deep needs torch, which is not installed: pip install 'maxmargin[torch]'."
    ) from error

__all__ = ["torch"]
