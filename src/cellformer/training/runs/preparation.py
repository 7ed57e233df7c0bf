"""The preparation that a run folder keeps."""

from cellformer.data.preparation import Preparation
from cellformer.training.config import RunConfig
from cellformer.training.materials.preparation import preparation_of
from cellformer.training.runs.run_folder import RunFolder, write_json


def write_preparation(folder: RunFolder, preparation: Preparation) -> None:
    """Writes preparation.json; raises ValueError for parts that could not be found again."""
    write_json(folder.preparation, preparation.to_dict())


def preparation_in(folder: RunFolder, config: RunConfig) -> Preparation:
    """The preparation of a run; that of its configuration where it is from before this file.

    Raises ValueError where the file is off, PartRefusedError where it names code of others that
    was not named by `allow_parts`.
    """
    if folder.preparation.exists():
        return Preparation.read(folder.preparation)
    return preparation_of(config.data, config.data.source)
