"""For tests of twinloop and of its plug-ins: synthetic recordings, planted defects, conformance suites."""
