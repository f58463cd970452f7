"""Command lines: help is instant, and every fault is one line with exit code 2."""

import getpass
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.arguments import dotted_changes, parse
from pipelines.cli import main
from pipelines.commands import COMMANDS, EXAMPLES
from pipelines.systems.registry import SYSTEMS
from pipelines.train.command import TrainFlags
from tests.builders.toy import toy_dataset, toy_videos
from tests.cluster.quoted_commands import check
from vtr_core.config.override import override
from vtr_core.errors import ConfigError
from vtr_core.run.presets import preset

SOURCES = (
    "clip_frames",
    "clip_tokens",
    "crosstask",
    "faces",
    "howto100m",
    "mining_youtube",
    "msrvtt",
    "pairs",
    "youcook2",
)
HELPS = [
    ["--help"],
    *([command.name, "--help"] for command in COMMANDS),
    ["tagger", "evaluate", "--help"],
    *(["ingest", source, "--help"] for source in SOURCES),
    ["ingest", "msrvtt", "--records", "videos", "--help"],
    ["train", "capsule-howto", "--help"],
    ["train", "siamese-att", "--help"],
    *(["evaluate", "--task", task.name, "--help"] for system in SYSTEMS for task in system.evaluations),
    ["evaluate", "--task", "localization", "--help"],
    *(["tables", paper.name, "--help"] for system in SYSTEMS for paper in system.tables),
    *(["import", kind.name, "--help"] for system in SYSTEMS for kind in system.imports),
    *(["analyze", kind.name, "--help"] for system in SYSTEMS for kind in system.analyses),
    ["sweep", "capsule-howto", "--help"],
]
ALL_HELPS = """
import contextlib, io, json, sys
from pipelines.cli import main
from pipelines.commands import EXAMPLES

heavy = {"torch", "ray", "mlflow", "pandas", "sklearn", "jinja2", "faiss", "spacy", "starlette", "uvicorn"}
for words in json.loads(sys.argv.pop()):
    sys.argv[1:] = words
    with contextlib.redirect_stdout(io.StringIO()) as said:
        main()
    assert "usage: vtr" in said.getvalue(), words
    assert len(words) > 2 or words[0] not in EXAMPLES or f"examples:\\n  vtr {words[0]}" in said.getvalue(), words
    assert not heavy & sys.modules.keys(), (words, heavy & sys.modules.keys())
"""


def vtr(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *words], capture_output=True, text=True, cwd=cwd, timeout=3600
    )


def test_help_imports_nothing_heavy() -> None:
    """In a process of its own, which has imported nothing yet."""
    done = subprocess.run([sys.executable, "-c", ALL_HELPS, json.dumps(HELPS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_files_of_the_working_directory_replace_no_module(tmp_path: Path) -> None:
    for name in ("queue", "numbers", "json", "profile", "typing", "pydantic"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')")
    done = vtr("train", "--list", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


FAULTS = [
    (["nothing"], "there is no command 'nothing'; vtr --help lists them"),
    (["trian"], "there is no command 'trian'; did you mean train?"),
    (["runs", "lst"], "did you mean list?"),
    (["import", "clip4clp"], "there is no such kind of checkpoint; did you mean clip4clip?"),
    (["data", "show", "none"], "is not a data set"),
    (["data", "show", "d", "--rows", "0"], "--rows is 0; it must be 1 or more"),
    (["ingest", "sythetic", "--out", "x"], "there is no source 'sythetic'; did you mean synthetic?"),
    (["ingest", "synthetic"], "--out"),
    (["ingest", "synthetic", "--out", "x", "--num-clisp", "3"], "did you mean --num-clips?"),
    (["ingest", "synthetic", "--out", "x", "--mention", "2"], "less than or equal to 1"),
    (["ingest", "pairs", "--out", "x", "--table", "none.csv"], "none.csv"),
    (["ingest", "howto100m", "--out", "x", "--records", "videos"], "howto100m cannot keep videos whole"),
    (["ingest", "crosstask", "--out", "x", "--annotations", "a"], "give --video-features, or --features-2d"),
    (["ingest", "mining_youtube", "--out", "x", "--video-features", "f"], "--annotations"),
    (["ingest", "synthetic_steps", "--out", "x", "--max-steps", "2"], "max_steps must be at least min_steps"),
    (
        ["ingest", "clip_tokens", "--out", "x", "--token-folder", "f"],
        "give annotations, published files, or table",
    ),
    (["ingest", "msrvtt", "--out", "x", "--records", "images"], "--records"),
    (["ingest", "msrvtt", "--out", "x", "--records", "videos", "--pool", "max"], "--pool"),
    (["train", "capsule-howto", "--data", "w"], "w is videos/1, whole videos with their frames; this model"),
    (["train", "capsule-howto", "--data", "d", "--validation", "w"], "w is videos/1"),
    (["ingest", "faces", "--out", "x", "--root", "none"], "none holds 0 subjects"),
    (["train", "siamese-att", "--data", "d"], "Siamese networks read images/1"),
    (["evaluate", "none", "--task", "verification", "--data", "d"], "Siamese networks read images/1"),
    (["tables", "siamese", "--faces", "none"], "none holds 0 subjects"),
    (["train", "nothing", "--data", "x"], "no preset 'nothing'; vtr train --list shows all"),
    (["train", "capsule-hwoto", "--data", "x"], "no preset 'capsule-hwoto'; did you mean capsule-howto?"),
    (["train", "capsule-howto"], "--data"),
    (["train", "capsule-howto", "--data", "none"], "is not a data set: it has no manifest.json"),
    (["train", "capsule-howto", "--data", "d", "--loss.margn.value", "1"], "did you mean loss.margin.value?"),
    (["train", "capsule-howto", "--data", "d", "--lr", "1"], "did you mean --optimizer.learning-rate?"),
    (["train", "capsule-howto", "--data", "d", "--batch.videos", "-1"], "batch.videos"),
    (["train", "capsule-howto", "--data", "d"], "holds 5 videos, fewer than a batch needs"),
    (["train", "--resume", "none"], "holds no run to resume"),
    (["train", "--config", "none.json", "--data", "d"], "none.json"),
    (["evaluate", "none", "--data", "d"], "is not a checkpoint"),
    (["evaluate", "none", "--data", "d", "--task", "retreival"], "no task 'retreival'; did you mean retrieval?"),
    (["tables", "thesus"], "no tables of 'thesus'; did you mean thesis?"),
    (["analyze", "causalty"], "no such analysis; did you mean causality?"),
    (["analyze", "cooccurrence", "d", "--grid", "g", "--data", "d", "--out", "x"], "give data without it"),
    (["extract", "none", "--out", "x", "--captions", "c", "--recipe", "logmel"], "did you mean log-mel?"),
    (["evaluate", "none", "--data", "d", "--out", "w"], "w cannot be written: it is a folder; name a file"),
    (["evaluate", "none", "--data", "d", "--task", "captioning", "--out=w"], "w cannot be written: it is a folder"),
    (["evaluate", "none", "--data", "d", "--out", "d/manifest.json/x"], "manifest.json is a file; name a folder"),
    (["search", "a dog", "--index", "none", "--page", "d"], "d cannot be written: it is a folder"),
    (["evaluate", "none", "--data", "d", "--task"], "--task needs a value"),
    (["evaluate", "none", "--data", "d", "--similarity", "manhattan"], "--similarity"),
    (["evaluate", "none", "--data", "d", "--normalize", "query_bank"], "--query-bank URI go together"),
    (["evaluate", "none", "--data", "d", "--normalize", "query_bank", "--query-bank", "d"], "give the captions of a"),
    (["evaluate", "none", "--data", "d", "--bank-size", "0"], "--bank-size is 0; it must be greater than 0"),
    (["sweep", "nothing", "--data", "d"], "there is no space 'nothing'; spaces: capsule-howto, "),
    (["sweep", "capsule-howto", "--data", "d"], "has no validation split"),
    (["sweep", "capsule-howto", "--data", "d", "--num-samples", "0"], "--num-samples is 0"),
    (["sweep", "--resume", "none"], "holds no sweep to resume"),
    (["extract", "none", "--out", "x", "--captions", "none.csv"], "none is no folder"),
    (["demo", "--films", "0"], "--films is 0; it must be 1 or more"),
    (["submit", "train", "capsule-howto"], "put the job's command after --"),
    (
        ["submit", "--", "train", "capsule-howto", "--data", "d", "--loss.margn", "1"],
        "no setting loss.margn; known there: loss.margin.kind, loss.margin.value",
    ),
    (
        ["submit", "--include", "d", "--address", "http://127.0.0.1:1", "--", "evaluate", "c"],
        "no Ray cluster answers at http://127.0.0.1",
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with a data set of clips, `d`, and one of videos, `w`; nothing is left in it."""
    place = tmp_path_factory.mktemp("working")
    toy_dataset(place / "d")
    toy_videos(place / "w")
    return place


@pytest.mark.parametrize(("words", "message"), FAULTS, ids=[" ".join(words) for words, _ in FAULTS])
def test_a_fault_is_one_line_and_leaves_nothing(
    words: list[str], message: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.rglob("*"))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["vtr", *words])
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr().err.splitlines()
    assert end.value.code == 2
    assert len(said) == 1
    assert message in said[0]
    assert sorted(folder.rglob("*")) == before


@pytest.mark.long
def test_a_process_of_its_own_says_no_more(folder: Path) -> None:
    """Nothing that is imported adds a line."""
    done = vtr("train", "capsule-howto", "--data", "d", cwd=folder)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_dotted_flags() -> None:
    words = ["--loss.margin.value=0.5", "--model.num-capsules", "8", "--seed", "3", "--training.patience", "None"]
    assert dotted_changes(words, "vtr", TrainFlags) == {
        "loss.margin.value": 0.5,
        "model.num_capsules": 8,
        "seed": 3,
        "training.patience": None,
    }
    for words in (["--batch.videos"], ["--batch.videos", "--seed", "3"]):
        with pytest.raises(ConfigError, match=r"--batch\.videos needs a value"):
            dotted_changes(words, "vtr", TrainFlags)


def test_a_setting_of_several_values_takes_words_as_help_says() -> None:
    words = ["--model.modalities", "video", "audio", "--model.num-capsules", "8"]
    changes = dotted_changes(words, "vtr", TrainFlags)
    assert changes == {"model.modalities": ["video", "audio"], "model.num_capsules": 8}
    one = dotted_changes(["--model.modalities", "video"], "vtr", TrainFlags)
    models = [override(preset("capsule-howto-tiny"), given).model for given in (changes, one)]
    assert [model.modalities for model in models] == [("video", "audio"), ("video",)]  # type: ignore[union-attr]
    with pytest.raises(ConfigError, match=r"training.epochs: .*\(given: \[3, 'stray'\]\)"):
        override(preset("capsule-howto-tiny"), dotted_changes(["--training.epochs", "3", "stray"], "vtr", TrainFlags))


def test_values_of_another_type_are_shown_with_what_a_flag_takes() -> None:
    words = ["--data", "a", "b", "--data-weights", "2", "0.5"]
    with pytest.raises(ConfigError, match=r"^vtr train: --data-weights takes \[INT \[INT \.\.\.\]\], not '2', '0\.5'$"):
        parse(TrainFlags, words, "vtr train")


@pytest.mark.parametrize(
    ("given", "spins"), [({}, "10000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, None)], ids=str
)
def test_threads_soon_sleep_while_they_wait_unless_told_otherwise(
    given: dict[str, str], spins: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["vtr", "--version"])
    monkeypatch.setattr(os, "environ", given)
    main()
    assert given.get("GOMP_SPINCOUNT") == spins


def test_a_reader_that_ends_ends_the_command() -> None:
    """As `vtr train … --help | head -1`: more text than a pipe holds, whose reader is gone."""
    words = [sys.executable, "-m", "pipelines.cli", "train", "capsule-howto-tiny", "--help"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


WORK = """
import subprocess, sys
from pathlib import Path
from pipelines.cli import lasting_output

with lasting_output():
    for _ in range(5000):
        print("é → ─ क \\udcff", flush=True)
    print("é → ─ क \\udcff", file=sys.stderr)
    child = [sys.executable, "-c", "print('é क', chr(0xdcff))"]
    Path(sys.argv[1]).write_bytes(subprocess.run(child, stdout=subprocess.PIPE, check=True).stdout)
"""
"""Prints much, and only then does what counts: what a process prints that it starts."""


def work(redirection: str, file: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The work in a shell with such a redirection of its output."""
    command = f"{shlex.join([sys.executable, '-c', WORK, str(file)])} {redirection}"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, env={**os.environ, **environment}, check=False
    )


@pytest.mark.linux
@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [
        ("> /dev/full", 2, b"vtr: standard output could not be written (No space left on device): a part is missing"),
        ("2> /dev/full | tail -c 1", 0, b""),
        ("| head -c 1", 141, b""),
        ("<&- >&- 2>&-", 0, b""),
    ],
)
def test_output_that_cannot_be_written_costs_no_work(redirection: str, code: int, said: bytes, tmp_path: Path) -> None:
    done = work(redirection, tmp_path / "result")
    assert (tmp_path / "result").read_bytes() == "é क \\udcff\n".encode()
    assert done.returncode == code
    if "2>" not in redirection:
        assert done.stderr.splitlines() == ["é → ─ क \\udcff".encode(), *filter(None, [said])]


@pytest.mark.parametrize(
    ("encoding", "line"),
    [
        ("iso-8859-1", b"\xe9 > - \\u0915 \\udcff"),
        ("ascii", b"\\xe9 > - \\u0915 \\udcff"),
    ],
)
def test_what_a_terminal_cannot_show_is_replaced(encoding: str, line: bytes, tmp_path: Path) -> None:
    done = work("", tmp_path / "result", PYTHONIOENCODING=encoding)
    assert (done.returncode, set(done.stdout.splitlines()), done.stderr.splitlines()) == (0, {line}, [line])
    assert (tmp_path / "result").read_bytes() == "é क \\udcff\n".encode()


@pytest.mark.linux
def test_names_of_files_are_utf8_in_any_locale(tmp_path: Path) -> None:
    """Arrow takes them as UTF-8, whatever the locale; the terminal keeps its encoding."""
    try:
        locale = str(tmp_path / "en_US.ISO-8859-1")
        subprocess.run(["localedef", "-i", "en_US", "-f", "ISO-8859-1", locale], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("localedef is not installed")
    if not Path(locale).exists():
        pytest.skip("the locale en_US is not installed")
    toy_dataset(tmp_path / "josé")
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", "data", "show", str(tmp_path / "josé"), "--rows", "1"],
        capture_output=True,
        env={**os.environ, "LOCPATH": str(tmp_path), "LC_ALL": "en_US.ISO-8859-1"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "josé".encode("iso-8859-1") in done.stdout.replace(b"\n", b"")  # lines are broken


def test_a_pipe_that_does_not_block_is_waited_for(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    child = subprocess.Popen([sys.executable, "-c", WORK, str(tmp_path / "result")], stdout=writing)
    os.close(writing)
    with open(reading, "rb") as pipe:
        assert len(pipe.readlines()) == 5000
    assert child.wait() == 0


def test_a_user_without_name_and_home_gets_both(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setattr("pwd.getpwuid", unknown)
    monkeypatch.setattr(sys, "argv", ["vtr", "--version"])
    monkeypatch.setenv("HOME", "")
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    main()
    assert getpass.getuser() == f"uid{os.getuid()}"
    assert Path.home().is_dir()
    assert Path.home().stat().st_mode & 0o077 == 0
    Path.home().rmdir()


def test_a_quiet_command_prints_errors_alone(folder: Path) -> None:
    for data, code in (("d", 0), ("none", 2)):
        done = vtr("--quiet", "data", "show", data, cwd=folder)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (code, "", code // 2)


EXAMPLES_GIVEN = [shlex.split(line.partition(" > ")[0])[1:] for lines in EXAMPLES.values() for line in lines]


@pytest.mark.parametrize("words", EXAMPLES_GIVEN, ids=" ".join)
def test_every_example_is_understood(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    check(words, monkeypatch)
