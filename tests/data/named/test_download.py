import hashlib
import threading

import pytest

from cellformer.data.named.download import FetchError, Patience, download, sha256_of
from faulty_server import Server, serving

CONTENT = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
QUICK = Patience(stall=1.0, attempts=2, pause=0.01)


def get(url, target, sha256=SHA256, patience=QUICK):
    return download(f"{url}/file.bin", target, sha256, len(CONTENT), patience=patience, shown=False)


def start_of(range_header):
    return int(range_header.removeprefix("bytes=").rstrip("-"))


def left_over(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_whole_and_alone(tmp_path):
    with serving(Server(CONTENT)) as url:
        assert get(url, tmp_path / "file.bin") == SHA256 == sha256_of(tmp_path / "file.bin")
    assert left_over(tmp_path) == ["file.bin"]


@pytest.mark.parametrize("fault", ["truncate", "stall", "500", "429", "redirect"])
def test_a_passing_fault_is_overcome(fault, tmp_path):
    server = Server(CONTENT, [fault])
    with serving(server) as url:
        assert get(url, tmp_path / "file.bin") == SHA256
    assert left_over(tmp_path) == ["file.bin"]
    if fault in ("truncate", "stall"):
        assert server.asked[0] is None
        assert 0 < start_of(server.asked[1]) <= len(CONTENT) // 2


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("truncate", "broke off|ended after"),
        ("stall", "sent nothing for 1 seconds"),
        ("503", "answered 503"),
        ("404", "answered 404 .*use a mirror"),
        ("403", "answered 403"),
        ("loop", "redirects without end"),
        ("page", "a web page instead of the file"),
        ("wrong", f"expected were 256,000 bytes and {SHA256}"),
        ("no length", r"gave 128,000 bytes|broke off|ended after"),
    ],
)
def test_a_lasting_fault_is_told_and_leaves_no_file(fault, message, tmp_path):
    with (
        serving(Server(CONTENT, [fault] * 20, etag=None)) as url,
        pytest.raises(FetchError, match=message) as error,
    ):
        get(url, tmp_path / "file.bin")
    assert url in str(error.value)
    assert f"put the file itself at {tmp_path / 'file.bin'}" in str(error.value)
    assert left_over(tmp_path) == []


def test_a_later_call_goes_on_where_an_earlier_one_stopped(tmp_path):
    server = Server(CONTENT, ["stall", "stall"])
    with serving(server) as url:
        with pytest.raises(FetchError, match="goes on from there"):
            get(url, tmp_path / "file.bin")
        assert "file.bin" not in left_over(tmp_path)
        assert get(url, tmp_path / "file.bin") == SHA256
    assert 0 < start_of(server.asked[1]) < start_of(server.asked[2])
    assert left_over(tmp_path) == ["file.bin"]


def test_what_belongs_to_another_version_of_the_file_is_not_glued_on(tmp_path):
    with serving(Server(CONTENT[::-1], ["stall"] * 2)) as url, pytest.raises(FetchError):
        get(url, tmp_path / "file.bin")
    server = Server(CONTENT, etag='"2"')
    with serving(server) as url:
        assert get(url, tmp_path / "file.bin") == SHA256


def test_a_server_without_ranges_sends_everything_again(tmp_path):
    server = Server(CONTENT, ["truncate"], ranges=False)
    with serving(server) as url:
        assert get(url, tmp_path / "file.bin") == SHA256
    assert len(server.asked) == 2


def test_no_server_at_all_is_told(tmp_path):
    with serving(Server(CONTENT)) as url:
        pass
    with pytest.raises(FetchError, match="there is no connection to the server"):
        get(url, tmp_path / "file.bin")
    with pytest.raises(FetchError, match="is no address to fetch from"):
        download("file.bin", tmp_path / "file.bin", shown=False)
    assert left_over(tmp_path) == []


def test_of_two_at_once_one_downloads(tmp_path):
    server = Server(CONTENT)
    found = []
    with serving(server) as url:
        threads = [
            threading.Thread(target=lambda: found.append(get(url, tmp_path / "file.bin")))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [SHA256] * 2
    assert len(server.asked) == 1


def test_progress_is_told_in_a_log(tmp_path, capsys):
    with serving(Server(CONTENT)) as url:
        download(f"{url}/file.bin", tmp_path / "file.bin", patience=QUICK)
    assert "Fetching file.bin: 256,000 bytes" in capsys.readouterr().err
