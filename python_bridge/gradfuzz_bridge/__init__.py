# SPDX-License-Identifier: BSD-3-Clause
"""The Python that no C++ can replace: torch.compile, its configuration, and Python's own parser.

The C++ worker calls these functions and takes every decision itself.
"""
