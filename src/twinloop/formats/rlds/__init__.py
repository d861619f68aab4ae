"""RLDS: episodes of steps in TFRecord files, described by features.json, as tensorflow_datasets keeps them.

One record is one episode, a `tf.train.Example` whose keys are the paths of the features: ``steps/action`` holds
the actions of all steps, one after the other. Nothing here needs TensorFlow. Where a feature `timestamp_ns` of
64-bit integers has the times of the steps, they are the stamps; else there are no capture times: see
`formats.steps`. Files have no index: opening hops from record to record and reads of each how many steps it
has, its times, its instruction and its metadata. Checksums of all data are compared in the first scan that
reads it.
"""
