"""Imports what taking a recording in imports on its way: for a process from which workers are forked."""

from contextlib import suppress

from twinloop.checks.catalog import all_rules
from twinloop.formats.reader import FORMATS

with suppress(Exception):  # a plug-in that does not import is told by whoever uses it
    list(FORMATS)
    all_rules()
