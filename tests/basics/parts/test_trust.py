import sys

import pytest

from cellformer.basics.parts.trust import (
    PartRefusedError,
    allow_parts,
    allowed_parts,
    resolve,
)


def test_a_module_is_imported_only_after_the_user_named_it(module):
    with pytest.raises(PartRefusedError, match=f"the lifting {module}:Scale .*--import {module}"):
        resolve(module, "Scale", "the lifting")
    assert module not in sys.modules
    allow_parts(module)
    assert resolve(module, "Scale", "the lifting")().by == 2.0
    assert allowed_parts() == (module,)


def test_a_package_that_is_named_allows_the_modules_in_it(tmp_path, monkeypatch, module):
    (tmp_path / "ownpackage").mkdir()
    (tmp_path / "ownpackage" / "__init__.py").write_text("")
    (tmp_path / "ownpackage" / "inner.py").write_text("def f(x): return x\n")
    (tmp_path / "ownpackage2.py").write_text("def f(x): return x\n")
    allow_parts("ownpackage")
    assert resolve("ownpackage.inner", "f", "it")(3) == 3
    with pytest.raises(PartRefusedError):
        resolve("ownpackage2", "f", "it")


def test_a_file_is_known_by_its_name_and_found_by_other_processes(tmp_path, module, monkeypatch):
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != str(tmp_path)])
    file = tmp_path / f"{module}.py"
    with pytest.raises(PartRefusedError):
        resolve(str(file), "shift", "it")
    allow_parts(str(file))
    assert resolve(module, "shift", "it")(1) == 2
    assert resolve(f"elsewhere/{module}.py", "shift", "it")(1) == 2
    assert str(tmp_path) in sys.path
    assert allowed_parts() == (str(file),)


def test_only_what_is_defined_in_a_module_is_a_part_of_it(module):
    allow_parts(module)
    with pytest.raises(ValueError, match="remove is not defined in"):
        resolve(module, "remove", "the loss")
    with pytest.raises(ValueError, match=r"'Scales'; did you mean 'Scale'\? .*Scale, shift"):
        resolve(module, "Scales", "the loss")


def test_what_cannot_be_imported_is_said(tmp_path, module):
    with pytest.raises(ImportError, match=r"no module 'nowhere.at.all'; install it, or give"):
        allow_parts("nowhere.at.all")
    with pytest.raises(ImportError, match="there is no file"):
        allow_parts(str(tmp_path / "gone.py"))
    (tmp_path / "needy.py").write_text("import not_installed_anywhere\n")
    with pytest.raises(ImportError, match=r"needy.py imports not_installed_anywhere"):
        allow_parts(str(tmp_path / "needy.py"))
    (tmp_path / "json.py").write_text("def f(): pass\n")
    with pytest.raises(ImportError, match=r"another module is named 'json'.*rename the file"):
        allow_parts(str(tmp_path / "json.py"))
