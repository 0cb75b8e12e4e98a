"""The name by which verifiers finds its taskset, harness and environment, because it allows no dots there."""

from openenv_ts.verifiers import OpenEnvEnv, OpenEnvHarness, OpenEnvTaskset

__all__ = ["OpenEnvEnv", "OpenEnvHarness", "OpenEnvTaskset"]
