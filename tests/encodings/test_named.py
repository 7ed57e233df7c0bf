import subprocess
import sys

import pytest

from cellformer.encodings.bspe import BSPe
from cellformer.encodings.hodgelap import HodgeLap
from cellformer.encodings.named import parse_encodings
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.encodings.rwpe import RWPe
from cellformer.encodings.slepians import Slepians
from cellformer.encodings.zeros import Zeros


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zeros", (Zeros(8),)),
        ("rwbspe+rwpe", (RWBSPe(8), RWPe(8))),
        ("bspe:4+rwpe:16", (BSPe(4), RWPe(16))),
        (" hodgelap + slepians : 5 ", (HodgeLap(8), Slepians(5))),
    ],
)
def test_names_become_encodings(text, expected):
    assert parse_encodings(text, 8) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bpse", "unknown encoding 'bpse'; did you mean 'bspe'"),
        ("rwpe+RWBSPE", "did you mean 'rwbspe'"),
        ("slepian", "did you mean 'slepians'"),
        ("qqqqqqqq", "choose from zeros, bspe"),
        ("bspe+", "'bspe[+]' has an empty place; the encodings are zeros, bspe"),
        ("", "'' has an empty place"),
        ("bspe:four", "size of 'bspe' in 'bspe:four' must be a number, got 'four'"),
        ("bspe:", "must be a number, got ''"),
        ("bspe:0", "at least 1, got 0"),
    ],
)
def test_what_is_wrong_with_a_name_is_said(text, message):
    with pytest.raises(ValueError, match=message):
        parse_encodings(text, 8)


def test_names_are_read_without_importing_torch():
    code = "import sys, cellformer.encodings.named; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
