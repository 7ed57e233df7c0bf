"""Machines that one has or thinks of."""

from dataclasses import dataclass

from cellformer.basics.checks import at_least, not_negative, positive

GIGABIT = 1e9 / 8


@dataclass(frozen=True)
class Machines:
    """Equal machines that share a storage. Each of their processes is as fast as one here."""

    nodes: int = 1
    processes: int = 1
    """On each of them."""
    network: float = 10.0
    """Gigabits a second from one to another."""
    latency: float = 1e-4
    """Seconds for a message from one to another."""
    storage: float = 1000.0
    """Megabytes a second that the storage takes or gives, all machines together."""
    failures: float = 0.0
    """How often a machine fails, a day."""
    restart: float = 5.0
    """Minutes until another one stands in for it."""

    def __post_init__(self) -> None:
        at_least(1, nodes=self.nodes, processes=self.processes)
        not_negative(failures=self.failures, latency=self.latency, restart=self.restart)
        positive(network=self.network, storage=self.storage)

    @property
    def all_processes(self) -> int:
        """On all machines."""
        return self.nodes * self.processes

    @property
    def network_bytes(self) -> float:
        """Bytes a second between two."""
        return self.network * GIGABIT

    @property
    def storage_bytes(self) -> float:
        """Bytes a second, all together."""
        return self.storage * 1e6
