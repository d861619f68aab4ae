"""What an export of ours wrote beside a dataset, in its folder `twinloop` or in ``FILE.twinloop``, read back.

``episodes.parquet`` tells how each episode ended and who did it, ``rows.parquet`` the time of each row,
``facts.json`` units, meaning and calibration. It is taken only where it is of exactly this dataset: as many
episodes, each with as many rows. A dataset that was cut or joined since does not fit, which is noted.
"""
