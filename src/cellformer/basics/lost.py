"""What is raised where a process that shares the work is gone."""


class LostProcessError(RuntimeError):
    """A process was killed, or was out of memory; the message says how to go on."""


LOADER_LOST = (
    "a process that loads batches was killed, or was out of memory (where it is short, take fewer "
    "training.loader_workers)"
)


def lost_loader(error: BaseException) -> bool:
    """Whether an error of PyTorch says that a process which loads batches is gone."""
    return isinstance(error, RuntimeError) and "DataLoader worker" in str(error)
