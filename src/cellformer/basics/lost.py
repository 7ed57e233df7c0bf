"""What is raised where a process that shares the work is gone."""


class LostProcessError(RuntimeError):
    """A process was killed, or was out of memory; the message says how to go on."""


LOADER_LOST = (
    "a process that loads batches was killed, or was out of memory (where it is short, take fewer "
    "training.loader_workers)"
)


def lost_loader(error: BaseException) -> bool:
    """Whether an error of PyTorch says that a process which loads batches is gone.

    Or one that came of it: Lightning, which clears up then, may fail at that.
    """
    chain: BaseException | None = error
    while chain is not None:
        if isinstance(chain, RuntimeError) and "DataLoader worker" in str(chain):
            return True
        chain = chain.__cause__ or chain.__context__
    return False
