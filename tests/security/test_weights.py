"""Files of weights of a few kilobytes that would take gigabytes, or never end, are refused."""

import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.fuzz.oracle import memory_limit
from vtr_core.backbones.weights import load_tensors, read_state
from vtr_core.errors import CheckpointError

pytestmark = pytest.mark.linux  # memory_limit
_MODULE = b"c__torch__\nM\n)\x81"


def view(key: str, count: int, sizes: bytes, strides: bytes) -> bytes:
    """The pickle of a tensor."""
    names = (("storage", b"X\x07\x00\x00\x00storage"), (key, b"X\x01\x00\x00\x00" + key.encode()))
    storage = b"(" + names[0][1] + b"ctorch\nFloatStorage\n" + names[1][1] + b"X\x03\x00\x00\x00cpu"
    storage += b"K" + bytes([count]) + b"tQ"
    hooks = b"ccollections\nOrderedDict\n)R"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + sizes + strides + b"\x89" + hooks + b"tR"


def text(name: str) -> bytes:
    return b"X" + len(name).to_bytes(4, "little") + name.encode()


def module(*members: tuple[str, bytes]) -> bytes:
    """The pickle of a module with members."""
    return _MODULE + b"}(" + b"".join(text(name) + value for name, value in members) + b"ub"


def archive(file: Path, tree: bytes, storages: int = 1, kind: str = "constants.pkl") -> Path:
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr("a/data.pkl", b"\x80\x02" + tree + b".")
        zipped.writestr(f"a/{kind}", b"")
        for key in range(storages):
            zipped.writestr(f"a/data/{key}", bytes(16))
    return file


LONG = b"\x8a\x06" + (10**12).to_bytes(6, "little")
TERABYTES = view("0", 4, LONG + b"\x85", b"K\x00\x85")
"""10^12 values of one, four terabytes as soon as they are copied."""


def doubled(depth: int) -> bytes:
    """A module that holds another one twice, that one another one twice …, with a tensor within."""
    inner = module(("t", view("0", 4, b"K\x04\x85", b"K\x01\x85")))
    for level in range(depth):
        inner = module(("x", inner + b"q" + bytes([level])), ("y", b"h" + bytes([level])))
    return inner


def nested_key(depth: int) -> bytes:
    """A dictionary whose key is a pair of the same pair, of the same pair …, which takes 2^depth steps to hash."""
    pair = b")"
    for level in range(depth):
        pair += b"q" + bytes([level]) + b"h" + bytes([level]) + b"\x86"
    return module(("d", b"}" + pair + b"K\x01s"))


@pytest.mark.parametrize(
    ("tree", "fault"),
    [
        (module(("t", TERABYTES)), "more memory than"),
        (doubled(60), "without end"),
        (nested_key(60), "keys that are no names"),
        (b"\x96" + (10**13).to_bytes(8, "little"), ""),
        (view("0", 4, b"K\x04\x85", b"K\x01\x85") + b"}b", "no module"),
    ],
    ids=["stride of 0", "doubled modules", "nested key", "a stated length", "a state of a tensor"],
)
def test_small_archives_take_little(tree: bytes, fault: str, tmp_path: Path) -> None:
    file = archive(tmp_path / "w.pt", tree)
    assert file.stat().st_size < 10_000
    with memory_limit(1 << 28), pytest.raises(CheckpointError, match=rf"w\.pt is not a file of weights .*{fault}"):
        read_state(file)


def test_a_reference_to_a_far_place_takes_nothing(tmp_path: Path) -> None:
    """pickle's reader in C takes 32 GB for it."""
    far = view("0", 4, b"K\x04\x85", b"K\x01\x85") + b"r\xff\xff\xff\x7f"
    with memory_limit(1 << 28):
        assert read_state(archive(tmp_path / "w.pt", module(("t", far)))).keys() == {"t"}


def test_a_thousand_names_of_the_same_bytes_are_refused(tmp_path: Path) -> None:
    """Entries of a zip archive may overlap: three megabytes gave six gigabytes."""
    count, size = 1000, 1 << 20
    tree = module(*((f"t{key}", b"N") for key in range(count)))
    file = archive(tmp_path / "w.pt", tree)
    with zipfile.ZipFile(file, "a") as zipped:
        zipped.writestr("a/data/big", bytes(size))
        info = zipped.getinfo("a/data/big")
        for key in range(count):
            other = zipfile.ZipInfo(f"a/data/x{key}")
            other.header_offset, other.file_size, other.compress_size, other.CRC = (
                info.header_offset,
                info.file_size,
                info.compress_size,
                info.CRC,
            )
            zipped.filelist.append(other)
    with memory_limit(1 << 28), pytest.raises(CheckpointError, match="larger than the archive"):
        read_state(file)


@pytest.mark.parametrize("form", ["stride", "compressed", "sparse", "meta"])
def test_what_torch_saved_is_read_in_proportion(form: str, tmp_path: Path) -> None:
    file = tmp_path / "w.pth"
    value = {
        "stride": lambda: torch.zeros(1).expand(10**12),
        "compressed": lambda: torch.zeros(2**26),
        "sparse": lambda: torch.sparse_coo_tensor(
            torch.zeros(1, 1, dtype=torch.long), torch.ones(1), (10**12,), check_invariants=True
        ),
        "meta": lambda: torch.empty(10**12, device="meta"),
    }[form]()
    torch.save({"w": value}, file)
    if form == "compressed":
        with zipfile.ZipFile(file) as plain:
            entries = {info.filename: plain.read(info) for info in plain.infolist()}
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, content in entries.items():
                zipped.writestr(name, content)
    assert file.stat().st_size < 2**20
    with memory_limit(1 << 28), pytest.raises(CheckpointError, match=r"w\.pth is not a file of weights"):
        read_state(file)


@pytest.mark.parametrize("form", ["zip", "legacy", "arguments"])
def test_torchs_reader_is_not_given_keys_without_end(form: str, tmp_path: Path) -> None:
    pair = b")" + b"".join(b"q" + bytes([level]) + b"h" + bytes([level]) + b"\x86" for level in range(60))
    tree = b"}" + pair + b"K\x01s"
    if form == "arguments":
        tree = b"ccollections\nOrderedDict\n](" + pair + b"K\x01\x86e\x85R"
    if form == "legacy":
        header = b"".join(pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}))
        (tmp_path / "w.pth").write_bytes(header + b"\x80\x02" + tree + b".")
    else:
        archive(tmp_path / "w.pth", tree, kind="version")
    with pytest.raises(CheckpointError, match="a key holds others without end"):
        read_state(tmp_path / "w.pth")


@pytest.mark.parametrize("legacy", [True, False])
def test_what_torch_saves_is_read(legacy: bool, tmp_path: Path) -> None:
    linear = nn.Linear(4, 3)
    state = {**linear.state_dict(), "p": nn.Parameter(torch.arange(3.0)), "half": torch.ones(2).bfloat16()}
    content = {"state_dict": state, "epoch": 3, ("a", 1): [1.5, None, {"x": torch.Size([1])}]}
    torch.save(content, tmp_path / "w.pth", _use_new_zipfile_serialization=not legacy)
    read = read_state(tmp_path / "w.pth")
    assert all(torch.equal(read[name], value) for name, value in state.items())
    optimizer = torch.optim.AdamW(linear.parameters())
    linear(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    torch.save(optimizer.state_dict(), tmp_path / "o.pt", _use_new_zipfile_serialization=not legacy)
    assert load_tensors(tmp_path / "o.pt")["state"].keys() == {0, 1}


def test_tied_weights_are_read(tmp_path: Path) -> None:
    linear = nn.Linear(64, 64)
    torch.save({"state_dict": {"a": linear.weight, "b": linear.weight.T, "c": linear.bias}}, tmp_path / "w.pth")
    assert {name: tuple(value.shape) for name, value in read_state(tmp_path / "w.pth").items()} == {
        "a": (64, 64),
        "b": (64, 64),
        "c": (64,),
    }
