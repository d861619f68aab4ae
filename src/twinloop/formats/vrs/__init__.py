"""VRS, the container of Project Aria and other rigs: read by its own index and data layouts.

The package `vrs` reads one record at a time through C++ that trusts the file; this reader takes the bytes of
many records at once into columns and checks every size. Facts of the format: the headers `FileFormat.h`,
`IndexRecord.h` and `DataPieces.h` of facebookresearch/vrs.
"""
