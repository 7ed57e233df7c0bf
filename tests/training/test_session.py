import os

import pytest
from torch.utils.data import DataLoader

from cellformer.training.config import TrainingConfig
from cellformer.training.loop.world import PeerError
from cellformer.training.processes.session import session


class Dying:
    """Rows whose reading ends the process, as a kill does."""

    def __len__(self):
        return 2

    def __getitem__(self, row):
        os._exit(1)


def test_a_loader_that_is_gone_is_told_with_the_way_to_go_on(tmp_path):
    loader = DataLoader(Dying(), num_workers=1, multiprocessing_context="fork")
    config = TrainingConfig(device="cpu")
    with (
        pytest.raises(PeerError, match=f"loads batches was killed.*--resume {tmp_path}"),
        session(config, tmp_path),
    ):
        next(iter(loader))

    def cleared_up():  # by Lightning, where the loader is lost meanwhile
        try:
            next(iter(loader))
        finally:
            raise RuntimeError("Please call `iter(combined_loader)` first.")

    with pytest.raises(PeerError, match="loads batches was killed"), session(config, tmp_path):
        cleared_up()
    with pytest.raises(RuntimeError, match=r"^another$"), session(config, tmp_path):
        raise RuntimeError("another")


def test_a_process_that_hears_no_more_of_another_says_so(tmp_path):
    told = "[gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:21432"
    with (
        pytest.raises(PeerError, match=r"another process of this training has ended.*--resume"),
        session(TrainingConfig(device="cpu"), tmp_path),
    ):
        raise RuntimeError(told)
