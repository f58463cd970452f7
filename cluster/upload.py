"""The code of a submitted job: what git tracks in a folder and what the user names, as one archive."""

import os
import re
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from vtr_core.errors import ConfigError

KEYS = (
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.kdbx", "*.tfstate", "*.tfstate.*"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"),
)
"""Names of files that hold keys; Terraform's states do."""
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----[\\rn\s]+[\w+/]{32}")
LIMIT_MB = 100
"""Limit of an upload. Code is far smaller; Ray keeps uploads in the head node's memory, and refuses 512 MiB."""
_LARGEST_NAMED = 5


@dataclass(frozen=True)
class Upload:
    """The files of a folder that go with a job, and those that do not though one could think so."""

    folder: str
    files: Mapping[str, Path]
    """The files by their names in the job's folder."""
    keys: tuple[str, ...]
    """Files that look like keys, and are not sent though git tracks them or a folder of theirs was named."""
    untracked: tuple[str, ...]
    """Files, and whole folders, that git neither tracks nor ignores, and that are not sent; Python files first."""

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(path.stat().st_size for path in self.files.values())

    def pack(self, archive: Path) -> None:
        """Write the files to a zip archive, whose bytes depend on them alone: Ray takes the same archive only once."""
        with ZipFile(archive, "w") as packed:
            for name, path in sorted(self.files.items()):
                entry = ZipInfo(name)
                entry.external_attr = path.stat().st_mode << 16
                packed.writestr(entry, path.read_bytes(), ZIP_DEFLATED)


def upload_of(folder: str, include: Sequence[str] = (), limit_mb: float = LIMIT_MB) -> Upload:
    """What a job gets of `folder`: the files that git tracks there, as they are on disk, and those of `include`.

    include: paths in `folder`. A file is sent whatever it is; a folder is sent with all that is in it, tracked or not.
    Of tracked files and of such folders three kinds are not sent: names that begin with a dot, where tools keep logins;
    files that look like keys; tracked files that .rayignore names, as Ray's own command reads it. A link is sent as the
    files that it leads to, which must be among those that are sent.

    Raises ConfigError where nothing or more than `limit_mb` would be sent, or a link leads to what is not.
    """
    root = Path(folder).resolve()
    if not root.is_dir():
        raise ConfigError(f"--working-dir {folder} is not a folder")
    named, below = _included(root, folder, include)
    tracked, untracked, complaint = _by_git(root)
    chosen = named | below | {name for name in tracked if not _is_hidden(name)}
    plain = {name for name in chosen if _is_plain(root, name)}
    keys = {name for name in plain - named if _is_key(root / name)}
    files = {name: root / name for name in plain - keys}
    links = {name for name in chosen - plain if (root / name).resolve() != root / name}
    files |= _behind_links(root, folder, links, files)
    if not files:
        raise ConfigError(
            f"nothing says which files of {folder} a job needs ({complaint or 'git tracks none there'}): git add them, "
            "or name files and folders with --include; --include . is all but dot-files and keys"
        )
    if foreign := sorted(name for name in files if re.search("[\ud800-\udfff]", name)):
        raise ConfigError(f"{folder} would send {foreign[0]}, whose name is not UTF-8; rename it")
    left = {
        name for name in untracked - keys if not _is_hidden(name) and not any(each.startswith(name) for each in files)
    }
    python_first = sorted(left, key=lambda name: (not name.endswith((".py", "/")), name))
    upload = Upload(folder, files, tuple(sorted(keys)), tuple(python_first))
    _check_size(upload, limit_mb)
    return upload


def _by_git(root: Path) -> tuple[set[str], set[str], str]:
    """Tracked names, without those of .rayignore; untracked ones that are not ignored; why git says nothing, if so."""
    try:
        tracked = _ls_files(root, "--cached", "--recurse-submodules")
        ignored = _ls_files(root, "--cached", "--ignored", "--exclude-per-directory=.rayignore")
        untracked = _ls_files(root, "--others", "--directory", "--no-empty-directory", "--exclude-standard")
    except subprocess.CalledProcessError as error:
        return set(), set(), os.fsdecode(error.stderr).partition("\n")[0].removeprefix("fatal: ")
    except OSError as error:
        return set(), set(), str(error)
    return tracked - ignored, untracked, ""


def _ls_files(root: Path, *arguments: str) -> set[str]:
    """The names that `git ls-files` prints, relative to `root`; no program that the repository names is run."""
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(root), "ls-files", "-z", *arguments]
    done = subprocess.run(command, capture_output=True, check=True)
    return {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}


def _included(root: Path, folder: str, include: Sequence[str]) -> tuple[set[str], set[str]]:
    named, below = set(), set()
    for given in include:
        path = Path(os.path.abspath(root / given))
        if not path.is_relative_to(root) or not (path.is_file() or path.is_dir()):
            raise ConfigError(f"--include {given} is no file or folder in {folder}; name one that is there")
        if path.is_dir() and not path.is_symlink():
            below |= {name.relative_to(root).as_posix() for name in _walk(path)}
        else:
            named.add(path.relative_to(root).as_posix())
    return named, below


def _walk(folder: Path) -> Iterator[Path]:
    """The files and links below a folder, without hidden ones and virtual environments."""

    def refuse(error: OSError) -> None:
        raise ConfigError(f"{error.filename} cannot be read as a folder ({error.strerror}); see to its permissions")

    for place, folders, names in os.walk(folder, onerror=refuse):
        here = Path(place)
        names += [name for name in folders if (here / name).is_symlink()]
        folders[:] = [name for name in folders if not _is_hidden(name) and not (here / name / "pyvenv.cfg").exists()]
        yield from (here / name for name in names if not _is_hidden(name))


def _is_hidden(name: str) -> bool:
    """Whether a part of the name begins with a dot, or is Python's cache."""
    return any(part.startswith(".") or part == "__pycache__" for part in name.split("/"))


def _is_plain(root: Path, name: str) -> bool:
    """Whether it is a file on disk that no link leads to, on no part of its way."""
    return (root / name).is_file() and (root / name).resolve() == root / name


def _is_key(path: Path) -> bool:
    """Whether a file is a private key by its name, or holds one in its first megabyte."""
    if any(fnmatchcase(path.name.lower(), pattern) for pattern in KEYS):
        return True
    with path.open("rb") as file:
        return bool(_PRIVATE_KEY.search(file.read(1_000_000)))


def _behind_links(root: Path, folder: str, links: Collection[str], files: Mapping[str, Path]) -> dict[str, Path]:
    """The files that links lead to, each by its name behind the link."""
    behind: dict[str, Path] = {}
    for link in sorted(links):
        target = (root / link).resolve()
        inside = os.path.relpath(target, root)
        reached = {
            f"{link}{name.removeprefix(inside)}": path
            for name, path in files.items()
            if name == inside or name.startswith(f"{inside}/")
        }
        if not reached:
            raise ConfigError(
                f"{folder} would send {link}, a link to {target}, which is not sent itself; remove the link, or name "
                "it in .rayignore"
            )
        behind |= reached
    return behind


def _check_size(upload: Upload, limit_mb: float) -> None:
    """ConfigError where more than `limit_mb` would be sent, naming the largest folders of the first two levels."""
    if upload.size <= limit_mb * 1e6:
        return
    sizes: Counter[str] = Counter()
    for name, path in upload.files.items():
        sizes["/".join(name.split("/")[:-1][:2]) or name] += path.stat().st_size
    largest = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in sizes.most_common(_LARGEST_NAMED))
    raise ConfigError(
        f"{upload.folder} would send {upload.size / 1e6:.0f} MB, more than {limit_mb:g} MB; largest: {largest}. Name "
        "what the job does not need in .rayignore, or give another --working-dir"
    )
