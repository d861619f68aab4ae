"""Tables: CSV and Parquet files with a column of times.

A table whose header names a time (``timestamp``, ``time_us``, ``Time (s)``...) opens as it is, as one stream
of kind table. A small mapping file says more; it lies beside the table as ``<file>.twinloop.toml``, or as
``table.toml`` for the tables of a folder:

    schema = 1
    file = "run*.csv"                # table.toml only: which files it is about (default: every table)

    [table]                          # what cannot be seen in a CSV file
    delimiter = ";"
    header = false
    columns = ["t", "q0", "q1", "gx", "gy", "gz"]

    [time]
    column = "t"
    unit = "ms"                      # s, ms, us, ns, iso
    source = "sensor"                # what the stamps are, see `StampSource`
    epoch = "boot"                   # what they count from, see `Epoch`

    [[streams]]
    name = "joint_states"
    kind = "joints"
    columns.position = ["q0", "q1"]
    units.position = "rad"

    [[streams]]
    name = "imu"
    kind = "imu"
    frame_id = "imu_link"
    columns.angular_velocity = ["gx", "gy", "gz"]
    units.angular_velocity = "deg/s"   # converted to the unit of the kind's layout

CSV files are read in blocks of whole lines, so memory stays flat. A block is first parsed with the types
that the first block showed. If one cell or row of it does not fit, that block alone is parsed again as text:
cells that are no numbers become empty, rows of another length are left out, and each is noted with its row
and words. The file goes on.
"""
