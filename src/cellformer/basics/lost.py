"""What is raised where a process that shares the work is gone."""


class LostProcessError(RuntimeError):
    """A process was killed, or was out of memory; the message says how to go on."""
