"""Running steps: in local processes, with progress, one failure not stopping the rest. Knows no stage."""
