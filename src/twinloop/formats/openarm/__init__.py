"""OpenArm datasets: metadata.yaml, and a folder an episode with Parquet files and pictures.

    episodes/<id>/obs/arms/left/state.parquet       timestamp, qpos, qvel, qtorque
    episodes/<id>/action/arms/left/qpos.parquet     timestamp, value
    episodes/<id>/cameras/head/<ns>.jpeg            or cameras/head.tar of the same

Every file has times of its own, in nanoseconds since 1970. Rates are those that metadata.yaml declares; what
was measured may differ. Datasets without a version list their episodes in episodes.jsonl and name their joints.
"""
