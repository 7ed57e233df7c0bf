import importlib

import pytest

from cellformer.basics.parts.catalog import Catalog, Listed, called
from cellformer.basics.parts.trust import PartRefusedError, allow_parts
from cellformer.data.readers.catalog import READERS
from cellformer.encodings.catalog import ENCODINGS
from cellformer.lifting.catalog import LIFTINGS
from cellformer.lifting.cliques import Cliques
from cellformer.model.catalogs import ATTENTIONS, READOUTS
from cellformer.training.catalogs import LOSSES, METRICS


@pytest.mark.parametrize(
    "catalog", [LIFTINGS, ENCODINGS, ATTENTIONS, READOUTS, LOSSES, METRICS, READERS]
)
def test_every_listed_part_is_where_the_list_says(catalog):
    for listed in catalog.parts.values():
        assert callable(listed.load())
        module, _, name = listed.place.partition(":")
        assert getattr(importlib.import_module(module), name).__module__ == module


def test_settings_become_arguments_where_the_part_takes_them():
    assert LIFTINGS.make("cliques", max_dim=3, max_length=5) == Cliques(max_dim=3)
    assert LIFTINGS.make("cliques", max_dim=None) == Cliques()
    assert LIFTINGS.make("cliques(max_dim=1)", max_dim=3) == Cliques(max_dim=1)
    assert LIFTINGS.takes("cliques(max_cells=9)", "max_dim")
    assert not LIFTINGS.takes("cliques(max_dim=1)", "max_dim")
    assert not LIFTINGS.takes("rings", "max_dim")
    assert not LIFTINGS.takes("my.parts:Cliques", "max_dim")


def test_an_unknown_name_gets_the_nearest_one_without_an_import():
    with pytest.raises(ValueError, match="unknown lifting 'ring'; did you mean 'rings'"):
        LIFTINGS.check("ring")
    assert LIFTINGS.check("nowhere.installed:Part").module == "nowhere.installed"


def test_arguments_that_do_not_fit_are_told_with_the_part():
    with pytest.raises(
        ValueError, match="rings has no argument 'max_sise'; did you mean 'max_size'"
    ):
        LIFTINGS.make("rings(max_sise=3)")


def test_a_part_of_one_s_own_is_made_from_its_text(module):
    with pytest.raises(PartRefusedError):
        LIFTINGS.make(f"{module}:Scale")
    allow_parts(module)
    assert LIFTINGS.make(f"{module}:Scale(by=3)", max_dim=2)(5) == 15
    assert LOSSES.make(f"{module}:shift(by=4)")(1) == 5
    assert LOSSES.make(f"{module}:shift")(1) == 2


def test_a_new_part_is_one_line():
    extended = Catalog(
        "lifting", {**LIFTINGS.parts, "all": Listed("cellformer.lifting.cliques:Cliques")}
    )
    assert extended.make("all(max_dim=4)") == Cliques(max_dim=4)
    assert extended.names[-1] == "all"


def test_a_factory_is_called_and_a_function_is_not():
    assert called(dict, {"a": 1}, "it") == {"a": 1}
    assert called(len, {}, "it") is len
    assert called(lambda a: a + 1, {"a": 1}, "it", factory=True) == 2


def test_what_a_kind_of_part_is_given_beside_joins_its_arguments(module):
    found, arguments = LIFTINGS.find("cliques", max_dim=3, max_length=5)
    assert (found, arguments) == (Cliques, {"max_dim": 3})
    allow_parts(module)
    found, arguments = LOSSES.find(f"{module}:shift(by=4)", max_dim=3)
    assert (found.__name__, arguments) == ("shift", {"by": 4})
    assert {"max_length", "max_dim", "over_limit"} <= LIFTINGS.settings
