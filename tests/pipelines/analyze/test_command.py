"""`vtr analyze`: what it prints, writes, logs and refuses."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from mlflow import MlflowClient

from pipelines.analyze.command import main
from tests.builders.dual_checkpoints import CONCEPTS, dual_checkpoint
from tests.builders.toy import toy_videos
from vtr_core.analysis.transforms import read_transform
from vtr_core.data.concepts.concept_table import ConceptCounts, CountedSet, TableHead, save_concept_table
from vtr_core.data.manifest import Manifest
from vtr_core.errors import CheckpointError, ConfigError, DatasetError
from vtr_core.fingerprint import key64


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Manifest]:
    folder = tmp_path_factory.mktemp("sets")
    frames = {"val": (3, 1, 4, 2, 5, 2), "test": (2, 2, 3, 1, 0, 4, 1), "train": (4, 3, 2, 5, 1, 1, 2, 3)}
    return {name: toy_videos(folder / name, counts) for name, counts in frames.items()}


@pytest.fixture(scope="module")
def save(sets: dict[str, Manifest], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Checkpoints with changes to the configuration."""
    folder = tmp_path_factory.mktemp("models")

    def saved(name: str, seed: int = 0, **changes: object) -> str:
        dotted = {key.replace("__", "."): value for key, value in changes.items()}
        return dual_checkpoint(folder / name, sets["train"], dotted, seed)

    return saved


def _causality(checkpoint: str, sets: dict[str, Manifest], out: Path, *more: str) -> None:
    main(["causality", checkpoint, "--data", sets["val"].uri, "--test", sets["test"].uri, "--out", str(out), *more])


@pytest.mark.long
def test_causality_writes_a_transform_that_is_not_worse_and_all_figures(
    sets: dict[str, Manifest], save: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    own_tracking_store: str,
) -> None:  # fmt: skip
    _causality(save("hybrid"), sets, tmp_path, "--experiment", "causality", "--top-k", "1", "2")
    values = json.loads((tmp_path / "causality.json").read_text())
    best = read_transform(str(tmp_path / "transform.json"), "jaccard")
    start, found = (values["search"]["results"][name] for name in ("original", "improved"))
    assert found["transform"] == {
        "similarity": "jaccard", "scale": best.scale, "shift": best.shift, "power": best.power,
    }  # fmt: skip
    assert found["accuracy"] >= start["accuracy"]
    assert start["transform"] == {"similarity": "jaccard", "scale": 1.0, "shift": 0.0, "power": 1.0}
    names = list(values["inferences"])
    assert names == ["hybrid, original", "hybrid, improved", "concepts, original", "concepts, improved"]
    hybrid, concepts = (values["inferences"][names[row]]["figures"]["c10"] for row in (0, 2))
    assert hybrid == pytest.approx(0.4 * concepts)
    assert set(values["curves"]) == set(values["top_k"]) == {"original", "improved"}
    assert list(values["curves"]["original"]) == [
        "matched", "text->video top 1", "text->video top 10", "video->text top 1", "video->text top 10", "random",
    ]  # fmt: skip
    assert list(values["top_k"]["original"]) == ["1", "2", "3"]
    assert values["detectors"] is None
    for name in ("main", "pair_sets", "top_k", "sweeps", "top_k_sweep"):
        assert (tmp_path / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    shown = " ".join(capsys.readouterr().out.split())
    assert "nothing is said on the detectors" in shown
    client = MlflowClient(own_tracking_store)
    (run,) = client.search_runs([client.get_experiment_by_name("causality").experiment_id])
    assert {"test/test/concepts/improved/c10", "test/test/hybrid/original/map"} <= run.data.metrics.keys()
    assert run.data.params["analysis"] == "causality"


@pytest.mark.long
def test_a_concept_model_under_a_cosine_has_no_hybrid(
    sets: dict[str, Manifest], save: Callable[..., str], tmp_path: Path
) -> None:
    checkpoint = save("cosine", model__latent_dim=None, model__concept_similarity="cosine")
    _causality(checkpoint, sets, tmp_path, "--captions-per-video", "2", "--search", "thesis")
    values = json.loads((tmp_path / "causality.json").read_text())
    names = [f"concepts, {name}" for name in ("original", "improved", "enough")]
    assert list(values["inferences"]) == names
    assert read_transform(str(tmp_path / "transform.json"), "cosine").scale == 1.0
    assert values["search"]["kind"] == "thesis"
    results = values["search"]["results"]
    assert all(found["accuracy"] >= results["original"]["accuracy"] for found in results.values())
    assert list(values["sweeps"]) == ["power", "shift"]


def _table(folder: Path, sets: dict[str, Manifest], names: tuple[str, ...] = CONCEPTS) -> str:
    """Labels for the videos of all three sets, which have the same names."""
    kept = [{names[n % 3]: 2, names[0]: 1 + n % 2} for n in range(8)]
    none = ConceptCounts.from_kept([], [], names)
    parts = [ConceptCounts.from_kept([key64(f"v{n}") for n in range(8)], kept, names), none, none]
    ordered = [sets["train"], sets["val"], sets["test"]]
    counted = [CountedSet(m.uri, m.fingerprint, len(p.video_key), 9, 2) for m, p in zip(ordered, parts, strict=True)]
    head = TableHead("tagger", "f", ("noun",), False, names, (3, 2, 1), tuple(counted))
    return save_concept_table(str(folder), head, parts).uri


@pytest.mark.long
def test_detectors_are_judged_by_the_concept_table(
    sets: dict[str, Manifest], save: Callable[..., str], tmp_path: Path
) -> None:
    table = _table(tmp_path / "table", sets)
    _causality(save("hybrid"), sets, tmp_path / "out", "--concepts", table, "--train", sets["train"].uri)
    found = json.loads((tmp_path / "out" / "causality.json").read_text())["detectors"]
    assert list(found["splits"]) == ["val", "test", "train"]
    video = found["splits"]["train"]["video"]
    assert len(video["precision"]) == 3
    assert sum(map(len, found["fates"].values())) == 3
    assert (tmp_path / "out" / "figures" / "histograms.png").exists()
    assert all(sum(one["train"]["present"]) + sum(one["train"]["absent"]) for one in found["histograms"].values())


def test_labels_of_other_concepts_or_other_data_are_refused(
    sets: dict[str, Manifest], save: Callable[..., str], tmp_path: Path
) -> None:
    swapped = _table(tmp_path / "swapped", sets, (CONCEPTS[1], CONCEPTS[0], CONCEPTS[2]))
    with pytest.raises(DatasetError, match="'video' is in the place of 'number'"):
        _causality(save("hybrid"), sets, tmp_path / "out", "--concepts", swapped)
    others = {**sets, "val": sets["train"]}
    with pytest.raises(DatasetError, match="vtr concepts"):
        _causality(save("hybrid"), sets, tmp_path / "out", "--concepts", _table(tmp_path / "others", others))


def _complementarity(checkpoints: list[str], data: Manifest, out: Path, *more: str) -> dict:
    main(["complementarity", *checkpoints, "--data", data.uri, "--out", str(out), *more])
    return json.loads((out / "complementarity.json").read_text())


def test_complementarity_compares_ways_of_training(
    sets: dict[str, Manifest], save: Callable[..., str], tmp_path: Path, own_tracking_store: str
) -> None:
    alone = [save(f"latent{seed}", seed, model__num_concepts=None) for seed in range(4)]
    both = [save(f"both{seed}", seed) for seed in range(2)]
    second = save("second", loss__concept_weight=0.0)
    concept = save("concept", model__latent_dim=None)
    binary = save("binary", loss__labels="binary")
    models = [*alone, *both, second, concept, binary]
    found = _complementarity(models, sets["test"], tmp_path, "--experiment", "complementarity")
    way = "latent 4 + concept 3, coupled heterogeneous"
    ways = {(one["scoring"], one["way"]): one["figures"]["map"]["runs"] for one in found["ensembles"]}
    assert ways == {
        ("latent", "latent 4"): 4,
        ("latent", f"{way} [loss.labels soft]"): 2,
        ("latent", f"{way} [loss.labels binary]"): 1,
        ("latent", "latent 4 + latent 3, coupled heterogeneous"): 1,
        ("concept", f"{way} [loss.labels soft]"): 2,
        ("concept", f"{way} [loss.labels binary]"): 1,
        ("concept", "latent 4 + latent 3, coupled heterogeneous"): 1,
        ("concept", "concept 3"): 1,
        ("two spaces", "latent 4 + latent 4, independent"): 2,
        ("two spaces", f"{way} [loss.labels soft]"): 2,
        ("two spaces", f"{way} [loss.labels binary]"): 1,
        ("two spaces", "latent 4 + latent 3, coupled heterogeneous"): 1,
    }
    tested = {(one["scoring"], one["figure"]) for one in found["differences"]}
    assert tested == {(scoring, figure) for scoring in ("latent", "two spaces") for figure in ("map", "sum_r")}
    fused = [run for run in found["runs"] if run["study"] == "independent"]
    assert [len(run["checkpoints"]) for run in fused] == [2, 2]
    assert {curve["side"] for curve in fused[0]["correlations"]} == {"captions", "videos", "stacked"}
    components = found["runs"][0]["components"]
    assert sum(components["normalised_variances"]) == pytest.approx(1.0)
    assert 100 * components["map"]["4"] == pytest.approx(found["runs"][0]["figures"]["latent"]["map"])
    for name in ("correlations", "components"):
        assert (tmp_path / "figures" / f"{name}.png").exists()
    client = MlflowClient(own_tracking_store)
    (run,) = client.search_runs([client.get_experiment_by_name("complementarity").experiment_id])
    assert "test/test/latent/latent_4/map" in run.data.metrics


def test_several_dimensions_make_a_dimension_study(
    sets: dict[str, Manifest], save: Callable[..., str], tmp_path: Path
) -> None:
    sizes = {dim: save(f"size{dim}", model__num_concepts=None, model__latent_dim=dim) for dim in (2, 4, 8)}
    found = _complementarity(list(sizes.values()), sets["test"], tmp_path, "--captions-per-video", "2")
    (study,) = found["dimension_studies"]
    assert (study["space"], study["dims"]) == ("latent", [2, 4, 8])
    low, high = study["stable"]
    assert low <= high
    assert (tmp_path / "figures" / "dimensions_latent_1.png").exists()


def test_bad_checkpoints_are_errors(sets: dict[str, Manifest], save: Callable[..., str], tmp_path: Path) -> None:
    hybrid = save("hybrid")
    with pytest.raises(ConfigError, match="given twice"):
        _complementarity([hybrid, hybrid], sets["test"], tmp_path)
    with pytest.raises(ConfigError, match="the same settings and the same seed, 0"):
        _complementarity([hybrid, save("copy")], sets["test"], tmp_path)
    with pytest.raises(ConfigError, match="at least one checkpoint"):
        main(["complementarity", "--data", sets["test"].uri, "--out", str(tmp_path)])
    with pytest.raises(ConfigError, match="--ridge is -1"):
        _complementarity([hybrid], sets["test"], tmp_path, "--ridge", "-1")


def test_bad_requests_are_errors(sets: dict[str, Manifest], save: Callable[..., str], tmp_path: Path) -> None:
    checkpoint = save("hybrid")
    same = ["causality", checkpoint, "--data", sets["val"].uri, "--test", sets["val"].uri, "--out", str(tmp_path)]
    with pytest.raises(ConfigError, match="are the same data set"):
        main(same)
    for flags, message in (
        (("--c10", "120"), "--c10 is 120; give a percentage"),
        (("--top-k", "0"), "--top-k is 0"),
        (("--captions-per-video", "0"), "--captions-per-video is 0"),
    ):
        with pytest.raises(ConfigError, match=message):
            _causality(checkpoint, sets, tmp_path, *flags)
    with pytest.raises(CheckpointError, match="without a concept space"):
        _causality(save("latent", model__num_concepts=None), sets, tmp_path)
    with pytest.raises(DatasetError, match="not a concept table"):
        _causality(checkpoint, sets, tmp_path, "--concepts", str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="did you mean causality"):
        main(["causation"])
