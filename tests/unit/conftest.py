"""Property tests use the same examples on every machine, however slow it is."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "same-everywhere",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("same-everywhere")
