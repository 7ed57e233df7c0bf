import pytest
import torch
from safetensors.torch import load_file, save_file

from cellformer.basics.sealed import FaultError
from cellformer.training.runs.weights import load_weights, read_weights, save_weights, write_weights


def model(seed=0):
    torch.manual_seed(seed)
    made = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    made.register_buffer("flag", torch.tensor([True, False]))
    made.register_buffer("low", torch.rand(3).bfloat16())
    made.register_buffer("nothing", torch.zeros(0, 2))
    return made


def test_weights_come_back_and_others_can_read_them(tmp_path):
    one, other, file = model(), model(1), tmp_path / "best.safetensors"
    save_weights(file, one)
    load_weights(file, other)
    plain = load_file(file)
    for name, tensor in one.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor)
        assert torch.equal(plain[name], tensor)


def test_every_damage_is_found_or_has_no_effect(tmp_path):
    file = tmp_path / "last.safetensors"
    save_weights(file, model())
    content, right = file.read_bytes(), read_weights(file)
    for place in range(0, len(content), 5):
        data = bytearray(content)
        data[place] ^= 1 << (place % 8)
        file.write_bytes(data)
        try:
            found = read_weights(file)
        except FaultError as error:
            message = str(error)
            assert str(file) in message
            assert "\n" not in message
        else:
            assert all(torch.equal(found[name], each) for name, each in right.items())


def test_damaged_weights_name_the_way_out(tmp_path):
    for name in ("best", "last"):
        write_weights(tmp_path / f"{name}.safetensors", model().state_dict())
        data = bytearray((tmp_path / f"{name}.safetensors").read_bytes())
        data[-1] ^= 1
        (tmp_path / f"{name}.safetensors").write_bytes(data)
    with pytest.raises(FaultError, match=r"best\.safetensors is damaged.*--weights last"):
        read_weights(tmp_path / "best.safetensors")
    with pytest.raises(FaultError, match=r"last\.safetensors is damaged.*--resume"):
        read_weights(tmp_path / "last.safetensors")


def test_weights_of_earlier_versions_have_no_checksum(tmp_path):
    save_file(model().state_dict(), tmp_path / "best.safetensors")
    load_weights(tmp_path / "best.safetensors", model(1))


def test_weights_of_another_model_are_refused_in_a_line(tmp_path):
    write_weights(tmp_path / "best.safetensors", torch.nn.Linear(2, 2).state_dict())
    with pytest.raises(ValueError, match="cannot be loaded into the model") as told:
        load_weights(tmp_path / "best.safetensors", model())
    assert "\n" not in str(told.value)


def test_weights_under_the_name_of_others_are_refused(tmp_path):
    best, last = tmp_path / "best.safetensors", tmp_path / "last.safetensors"
    for file in (best, last):
        save_weights(file, torch.nn.Linear(2, 1))
    swapped = best.read_bytes(), last.read_bytes()
    last.write_bytes(swapped[0])
    best.write_bytes(swapped[1])
    with pytest.raises(FaultError, match=r"best\.safetensors holds what was written as last\."):
        read_weights(best)
    with pytest.raises(FaultError, match=r"last\.safetensors holds what was written as best\."):
        read_weights(last)


def test_the_same_weights_are_the_same_file(tmp_path):
    model, written = torch.nn.Linear(2, 1), set()
    for _ in range(20):
        save_weights(tmp_path / "best.safetensors", model)
        written.add((tmp_path / "best.safetensors").read_bytes())
    assert len(written) == 1
