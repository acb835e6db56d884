from tests.release.conftest import publish, release

__all__ = ["publish", "release"]
