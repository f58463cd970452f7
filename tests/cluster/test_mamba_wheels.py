"""One architecture is left of a setup.py, which stays a program."""

import pytest

from cluster.mamba_wheels import only
from vtr_core.errors import ClusterError

SETUP = """\
if not SKIP:
    if True:
        cc_flag.append("-gencode")
        cc_flag.append("arch=compute_80,code=sm_80")
        if version >= 11.8:
            cc_flag.append("-gencode")
            cc_flag.append("arch=compute_90,code=sm_90")
        if version >= 12.8:
            cc_flag.append("-gencode")
            cc_flag.append("arch=compute_100,code=sm_100")
            cc_flag.append("-gencode")
            cc_flag.append("arch=compute_120,code=sm_120")
        cc_flag.append("-DBUILD")
"""


@pytest.mark.parametrize(("architecture", "flags"), [("80", ["80"]), ("90", ["90"]), ("120", ["120"])])
def test_one_target_is_left(architecture: str, flags: list[str]) -> None:
    names = {"SKIP": False, "version": 13.0, "cc_flag": []}
    exec(only(architecture, SETUP), names)
    assert names["cc_flag"] == [*(w for f in flags for w in ("-gencode", f"arch=compute_{f},code=sm_{f}")), "-DBUILD"]


def test_an_architecture_that_is_not_named_is_refused() -> None:
    with pytest.raises(ClusterError, match=r"no architecture '70' in setup\.py, it compiles for 80, 90, 100, 120"):
        only("70", SETUP)
    with pytest.raises(ClusterError, match="it compiles for none"):
        only("90", "setup()")
