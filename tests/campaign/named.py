"""All campaigns by name, made in a folder for themselves, with a server of commands."""

from collections.abc import Callable, Mapping
from pathlib import Path

from campaign.commands import Commands
from campaign.complexes import Complexes
from campaign.configurations import Configurations
from campaign.engine import Campaign
from campaign.files import Files
from campaign.kills import Kills, Workers
from campaign.tables import Tables

CAMPAIGNS: Mapping[str, Callable[[Path, Commands], Campaign]] = {
    "complexes": Complexes,
    "tables": Tables,
    "files": Files,
    "configurations": Configurations,
    "kills": Kills,
    "workers": Workers,
}
