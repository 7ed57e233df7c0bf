"""How threads wait for each other, where a user has not said it."""

import pytest

from cellformer.cli.start import SPINS, wait_briefly


@pytest.mark.parametrize(
    ("given", "spins"),
    [({}, SPINS), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)],
)
def test_threads_wait_briefly_unless_the_user_says_how(given, spins, monkeypatch):
    environ = dict(given)
    monkeypatch.setattr("os.environ", environ)
    wait_briefly()
    assert environ.get("GOMP_SPINCOUNT") == spins
    assert environ.items() >= given.items()
