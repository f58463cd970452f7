"""TorchScript archives are read as torch reads them, converted, and refused where they ask for more than tensors."""

import collections
import io
import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from pipelines.cli import run
from tests.security.payload import Payload
from vtr_core.backbones.weights import read_state
from vtr_core.errors import CheckpointError, ConfigError


class Network(nn.Module):
    """Names, types and shapes as published networks have them: nested, half, not contiguous, tied, empty, a scalar."""

    sizes: list[int]

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.layers = nn.Sequential(self.first, nn.LayerNorm(4))
        self.halved = nn.Parameter(torch.arange(6.0).view(2, 3).half())
        self.turned = nn.Parameter(torch.randn(5, 4).T)
        self.tied = nn.Linear(3, 4)
        self.tied.weight = self.first.weight
        self.register_buffer("count", torch.tensor(7))
        self.register_buffer("nothing", torch.zeros(0, 3))
        self.sizes = [1, 2]

    def forward(self, x: Tensor) -> Tensor:
        seen: Tensor = self.layers(x) @ self.turned
        return seen


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    torch.jit.script(Network()).save(str(tmp_path / "network.pt"))
    return tmp_path / "network.pt"


def test_its_tensors_are_those_that_torch_reads(archive: Path) -> None:
    found, expected = read_state(archive), torch.jit.load(str(archive)).state_dict()
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].dtype == value.dtype, name
        assert torch.equal(found[name], value), name


@pytest.mark.parametrize("kind", ["script", "trace", "save"])
def test_a_file_is_converted_once(kind: str, archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = torch.jit.load(str(archive))
    if kind == "save":
        torch.save({"state_dict": network.state_dict()}, archive)
    if kind == "trace":
        torch.jit.trace(Network(), torch.zeros(1, 3)).save(str(archive))
        network = torch.jit.load(str(archive))
    out = tmp_path / "new" / "network.safetensors"
    run("import", ["weights", str(archive), "--out", str(out)])
    assert "12 tensors" in capsys.readouterr().out
    found = load_file(out)
    assert found.keys() == network.state_dict().keys()
    assert all(torch.equal(found[name], value) for name, value in network.state_dict().items())
    with pytest.raises(ConfigError, match="exists; give the name of a new file"):
        run("import", ["weights", str(archive), "--out", str(out)])
    with pytest.raises(ConfigError, match="does not end in"):
        run("import", ["weights", str(archive), "--out", str(tmp_path / "network.pt2")])


def rewritten(file: Path, replaced: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> None:
    """The archive with other contents of some of its files."""
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    root = next(iter(entries)).split("/")[0]
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, replaced.get(name.removeprefix(f"{root}/"), content))


class Tree(pickle.Pickler):
    """Writes a module tree whose storages are (dtype's name, count)."""

    def persistent_id(self, value: object) -> object:
        kind = torch.FloatStorage
        return ("storage", kind, "0", "cpu", value.count) if isinstance(value, Storage) else None


class Storage:
    def __init__(self, count: int) -> None:
        self.count = count


class View:
    """Pickled as a tensor of a storage."""

    def __init__(self, count: int, size: tuple[int, ...], offset: int = 0) -> None:
        hooks: collections.OrderedDict[str, object] = collections.OrderedDict()
        self.given = (Storage(count), offset, size, (1,) * len(size), False, hooks)

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return torch._utils._rebuild_tensor_v2, self.given


def tree(value: object) -> bytes:
    content = io.BytesIO()
    Tree(content, protocol=2).dump(value)
    return content.getvalue()


@pytest.mark.parametrize("where", ["root", "a storage"])
def test_a_malicious_archive_is_refused(where: str, archive: Path, tmp_path: Path) -> None:
    marker = tmp_path / "loaded"
    rewritten(archive, {"data.pkl": pickle.dumps(Payload(marker), protocol=2)})
    if where == "a storage":
        rewritten(archive, {"data.pkl": tree([View(3, (1,)), Payload(marker)])})
    with pytest.raises(CheckpointError, match=r"network\.pt is not a file of weights .*which is no tensor"):
        read_state(archive)
    assert not marker.exists()


def test_other_pickles_of_an_archive_are_not_opened(archive: Path, tmp_path: Path) -> None:
    marker = tmp_path / "loaded"
    rewritten(archive, {"constants.pkl": pickle.dumps(Payload(marker)), "code/__torch__.py": b"raise SystemExit"})
    assert len(read_state(archive)) == 12
    assert not marker.exists()


def test_damage_is_named(archive: Path) -> None:
    whole = archive.read_bytes()
    faults = {
        "it holds no module": tree(View(3, (1,))),
        "no dictionary": b"\x80\x02c__torch__\nNetwork\n)\x81)b.",
        "of what is no module": b"\x80\x02c__torch__\nNetwork\n}b.",
        "bytes, not 5 values": tree(View(5, (5,))),
        "out of bounds|larger": tree(View(3, (4,))),
        "out of bounds": tree(View(3, (2,), offset=2)),
        "cut off|Ran out of input|pickle": b"",
    }
    for message, content in faults.items():
        archive.write_bytes(whole)
        rewritten(archive, {"data.pkl": content})
        with pytest.raises(CheckpointError) as caught:
            read_state(archive)
        assert str(archive) in str(caught.value), message
        assert any(part in str(caught.value) for part in message.split("|")), (message, caught.value)
    archive.write_bytes(whole)
    rewritten(archive, {}, zipfile.ZIP_DEFLATED)
    with pytest.raises(CheckpointError, match="compressed"):
        read_state(archive)


def test_a_module_within_itself_is_refused(archive: Path) -> None:
    """Else its names would never end."""
    rewritten(archive, {"data.pkl": b"\x80\x02c__torch__\nNetwork\n)\x81q\x00}X\x01\x00\x00\x00aq\x01h\x00sb."})
    with pytest.raises(CheckpointError, match="recursion"):
        read_state(archive)
