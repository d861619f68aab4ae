"""What learning datasets share: episodes made of steps, most of them without a single time.

A step has a place in its episode and nothing more. Where the source declares a control rate, stamps are the
grid step / rate; where it declares none, the steps of an episode stand one second apart, which orders them and
says nothing else (`rate_hz` is None, and the stream's attribute `times` says so). Both are `StampSource.GRID`
on the clock of the episode. Episodes follow one another without touching: each begins at the running sum of
their lengths, rounded up to whole seconds.

Streams are named as LeRobot names features: ``observation.images.<camera>``, ``observation.<key>``, ``action``.
The attribute `key` is the name in the source.
"""
