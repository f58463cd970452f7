"""Chapter 4 of the thesis: ensembles of dual encoders, spaces and their correlation; numbers and figures."""

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Int64
from matplotlib.figure import Figure
from torch import Tensor

from pipelines.arguments import check_counts
from pipelines.evaluate.evaluation_flags import device, short_names
from pipelines.report.figures import blank_figure, name_axes
from pipelines.report.logged_run import write_analysis
from pipelines.systems.dual.analysed_set import AnalysedSet, analysed_set, figures_by_space, fused
from pipelines.systems.dual.complementarity import ComplementarityFlags
from pipelines.systems.registry import SYSTEMS
from vtr_core.analysis.effective_dimension import component_counts, principal_components
from vtr_core.analysis.ensembles import canonical_correlations, difference, spread, stable_region
from vtr_core.analysis.transforms import Transform
from vtr_core.config.data_sets import ConceptSimilarity
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.schema import require_videos
from vtr_core.data.shards.shard_file import usable
from vtr_core.embedding.video_ranking import Scoring
from vtr_core.errors import CheckpointError, ConfigError, DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.run.config import TrainConfig
from vtr_core.storage import check_writable, locate
from vtr_core.systems.dual.config import DualTripletConfig, HybridEncoderConfig
from vtr_core.systems.dual.dual_embeddings import DualRows, dual_encoder, embed_dual, only_space
from vtr_core.systems.dual.evaluation import mean_precision
from vtr_core.systems.dual.hybrid_scores import dual_scoring
from vtr_core.tracking.run import flatten
from vtr_core.train.checkpoint.trained_model import LoadedModel, read_model

TESTED, STUDIED = ("map", "sum_r"), ("map", "sum_r", "t2v_map", "v2t_map", "t2v_r1", "v2t_r1")
"""Metrics of the significance tests, and of a dimension study."""
FEWEST_DIMENSIONS = 3
_NO_SETTING = ("seed", "preset", "scaling")
"""Trainings of one ensemble differ in the seed. A preset is a name for settings, and any number of workers computes the
same loss.
"""
_SIZES = ("model.latent_dim", "model.num_concepts", "trained with concepts")
Settings: TypeAlias = tuple[tuple[str, str], ...]
"""Dotted names of settings and their values as JSON."""


@dataclass(frozen=True)
class WayOfTraining:
    """What trainings share that differ in nothing but the seed."""

    spaces: str
    """"latent", "concept", or how two spaces are coupled."""
    latent_dim: int | None
    num_concepts: int | None
    settings: Settings

    @property
    def title(self) -> str:
        """The spaces with their sizes; ways with other settings may have the same title."""
        match self.spaces:
            case "latent":
                return f"latent {self.latent_dim}"
            case "concept":
                return f"concept {self.num_concepts}"
            case coupled:
                return coupled.format(self.latent_dim, self.num_concepts)


def way_of_training(config: TrainConfig, origin: Mapping[str, str] | None = None) -> WayOfTraining:
    """The way of training of a run's configuration; CheckpointError if it is not a dual encoder's.

    origin: what else the training began with, such as its data. Two spaces are homogeneous where both are compared by a
    cosine. A space of concepts that is trained without their detection (concept_weight 0) is a second latent space
    (thesis, section 4.4).
    """
    model, loss = config.model, config.loss
    if not isinstance(model, HybridEncoderConfig) or not isinstance(loss, DualTripletConfig):
        raise CheckpointError(
            f"the checkpoint is of a {model.kind!r} model trained with {loss.kind!r}; this needs a 'hybrid_encoder' "
            "trained with 'dual_triplet', such as vtr train hybrid-msrvtt makes"
        )
    if model.num_concepts is None or model.latent_dim is None:
        spaces = "concept" if model.latent_dim is None else "latent"
    else:
        second = "latent" if loss.concept_weight == 0 else "concept"
        alike = "homogeneous" if model.concept_similarity == "cosine" else "heterogeneous"
        spaces = f"latent {{}} + {second} {{}}, coupled {alike}"
    values = {name: value for name, value in config.model_dump(mode="json").items() if name not in _NO_SETTING}
    settings = {name: json.dumps(value) for name, value in flatten(values).items()} | dict(origin or {})
    return WayOfTraining(spaces, model.latent_dim, model.num_concepts, tuple(sorted(settings.items())))


def origin_of(loaded: LoadedModel) -> dict[str, str]:
    """The data, the initial weights and the concepts that a model was trained with, as far as they are known."""
    names = {"data.fingerprint": "trained on data", "init": "initial weights"}
    known = {name: str(loaded.provenance[key]) for key, name in names.items() if loaded.provenance.get(key)}
    return {**known, **({"trained with concepts": fingerprint(loaded.concepts)} if loaded.concepts else {})}


def names_of(ways: Sequence[WayOfTraining]) -> dict[WayOfTraining, str]:
    """A name of its own for every way: its title, and where others have the same one the settings that differ."""
    return _named_apart({way: (way.title, dict(way.settings)) for way in ways})


def studies_of(ways: Sequence[WayOfTraining]) -> dict[WayOfTraining, str]:
    """The name of each way's dimension study: spaces, and settings other than dimensions where another study has it."""
    return _named_apart({way: (way.spaces, {n: value for n, value in way.settings if n not in _SIZES}) for way in ways})


def _named_apart(ways: Mapping[WayOfTraining, tuple[str, dict[str, str]]]) -> dict[WayOfTraining, str]:
    """Equal settings have the same name; to others with the same one the values that differ among them are added."""
    names = {}
    for way, (name, own) in ways.items():
        alike = [settings for other, settings in ways.values() if other == name]
        settings = {setting for other in alike for setting in other}
        differing = sorted(s for s in settings if len({other.get(s) for other in alike}) > 1)
        values = {setting: own.get(setting, "null").strip('"').replace("null", "none") for setting in differing}
        shown = ", ".join(f"{s} {value if len(value) < 30 else value[:7]}" for s, value in values.items())
        names[way] = f"{name} [{shown}]" if shown else name
    return names


def analyze(flags: ComplementarityFlags) -> None:
    """Evaluates every checkpoint, compares those that belong together, and writes and logs numbers and figures."""
    _check(flags)
    check_writable(locate(flags.out))
    manifest = usable(flags.data, require_videos)
    (data,) = short_names([manifest])
    # Weights are read one model after another: a grid of dimensions has a hundred.
    models = [replace(read_model(uri, SYSTEMS), model=torch.nn.Identity()) for uri in flags.checkpoints]
    values = {"data": data, **compared(_runs(flags, models, data, manifest))}
    metrics: dict[str, float] = {}
    for row in values["ensembles"]:
        way = "".join(letter if letter.isalnum() else "_" for letter in row["way"])
        place = f"test/{data}/{row['scoring'].replace(' ', '_')}/{way}"
        metrics |= {f"{place}/{name}": row["figures"][name]["mean"] for name in TESTED}
    names = ("ridge", "samples", "pairs", "components", "captions_per_video", "seed")
    logged = values, metrics, figures(values), {name: getattr(flags, name) for name in names}
    write_analysis("complementarity", flags.out, flags.experiment, models, {data: manifest}, *logged)


def _check(flags: ComplementarityFlags) -> None:
    if not flags.checkpoints:
        raise ConfigError("vtr analyze complementarity: give at least one checkpoint")
    if len(set(flags.checkpoints)) != len(flags.checkpoints):
        raise ConfigError("vtr analyze complementarity: a checkpoint is given twice; each counts as a run of its own")
    if not 0 <= flags.ridge < float("inf"):
        raise ConfigError(f"vtr analyze complementarity: --ridge is {flags.ridge}; it must be a number of 0 or more")
    if flags.components < 0:
        raise ConfigError(f"vtr analyze complementarity: --components is {flags.components}; it must be 0 or more")
    counts = {"captions_per_video": flags.captions_per_video, "samples": flags.samples, "pairs": flags.pairs}
    check_counts("vtr analyze complementarity", **counts)


def _runs(
    flags: ComplementarityFlags, models: Sequence[LoadedModel], name: str, manifest: Manifest
) -> list[dict[str, Any]]:
    """The trainings of each way, and fused pairs of them if they have a latent space only.

    models: without weights, which are read one after another; embeddings of two trainings are held at a time.
    """
    ways = [way_of_training(model.config, origin_of(model)) for model in models]
    _check_seeds(ways, models)
    names, studies = names_of(ways), studies_of(ways)
    runs: list[dict[str, Any]] = []
    for way in dict.fromkeys(ways):
        before: tuple[LoadedModel, AnalysedSet] | None = None
        for head in [model for model, own in zip(models, ways, strict=True) if own == way]:
            model = read_model(head.uri, SYSTEMS, device())
            data = analysed_set(name, embed_dual(model, manifest))
            if flags.captions_per_video is not None:
                data = data.few_captions(flags.captions_per_video, flags.seed)
            similarity = dual_encoder(model).config.concept_similarity
            is_first = all(run["way"] != names[way] for run in runs)
            with_components = is_first and flags.components > 0 and (way.latent_dim or 0) > 0
            runs.append(
                {
                    "way": names[way],
                    "study": studies[way],
                    "dims": [way.latent_dim, way.num_concepts],
                    "checkpoints": [model.uri],
                    "figures": figures_by_space(data.rows, dual_scoring(model)),
                    "components": component_curve(data, dual_scoring(model), flags.components)
                    if with_components
                    else None,
                    "correlations": _between_spaces(data, similarity, flags),
                }
            )
            if way.spaces == "latent" and before is not None:
                runs.append(_fusion(flags, way, names[way], before, (head, data), dual_scoring(model)))
            before = None if before is not None else (head, data)
    return runs


def _check_seeds(ways: Sequence[WayOfTraining], models: Sequence[LoadedModel]) -> None:
    """ConfigError where two trainings differ in nothing, not even the seed: their mean would be one over seeds."""
    trained: dict[tuple[WayOfTraining, int], str] = {}
    for way, model in zip(ways, models, strict=True):
        key = way, model.config.seed
        if key in trained:
            raise ConfigError(
                f"vtr analyze complementarity: {trained[key]} and {model.uri} have the same settings and the same "
                f"seed, {model.config.seed}; a mean over seeds takes one checkpoint of each, so leave one of them out"
            )
        trained[key] = model.uri


def _fusion(
    flags: ComplementarityFlags,
    way: WayOfTraining,
    name: str,
    first: tuple[LoadedModel, AnalysedSet],
    second: tuple[LoadedModel, AnalysedSet],
    scoring: Scoring,
) -> dict[str, Any]:
    """Two separately trained latent spaces whose scores are added."""
    both = AnalysedSet(first[1].name, fused(first[1].rows, second[1].rows))
    a, b = ((both.text[space], both.video[space]) for space in ("latent", "concept"))
    title = f"latent {way.latent_dim} + latent {way.latent_dim}, independent{name.removeprefix(way.title)}"
    return {
        "way": title,
        "study": "independent",
        "dims": [way.latent_dim] * 2,
        "checkpoints": [first[0].uri, second[0].uri],
        "figures": {"two spaces": fused_figures(both.rows, scoring)},
        "components": None,
        "correlations": correlation_curves(a, b, both.caption_video, flags),
    }


Space: TypeAlias = tuple[Tensor, Tensor]
"""(captions, dim) and (videos, dim): the vectors of one space."""


def _between_spaces(
    data: AnalysedSet, similarity: ConceptSimilarity, flags: ComplementarityFlags
) -> list[dict[str, Any]]:
    """`correlation_curves` of a model's two spaces, concepts as their similarity compares them; [] for one space."""
    if len(data.text) < 2:
        return []
    space = data.concept_space(similarity)
    concepts = space.identity.apply(space.text), space.identity.apply(space.video)
    return correlation_curves((data.text["latent"], data.video["latent"]), concepts, data.caption_video, flags)


def fused_figures(both: DualRows, scoring: Scoring) -> dict[str, float]:
    """The metrics of the fusion of two separately trained latent spaces with equal weights."""
    policy = replace(scoring, space="hybrid", transform=Transform("cosine"), latent_weight=0.5)
    return figures_by_space(both, policy)["two spaces"]


def component_curve(data: AnalysedSet, scoring: Scoring, most: int) -> dict[str, Any]:
    """Figure 4.4: normalised variances of a latent space, and mean mAP in [0, 1] after keeping the first components.

    Of a space with more than `most` dimensions the first `most` components alone, so that both curves end there.

    Principal components over captions and videos together: every caption is one sample, every video is repeated an
    integer number of times, so that both sides weigh about the same. Vectors are projected without subtracting the
    mean: then all components together are a rotation and give the cosines of the full vectors.
    """
    text, video = data.text["latent"], data.video["latent"]
    components = principal_components(torch.cat([text, video.repeat(max(1, round(len(text) / len(video))), 1)]), most)
    directions, rows = components.directions.float().numpy(), only_space(data.rows, "latent")
    texts, videos = rows.text["latent"] @ directions, rows.video["latent"] @ directions
    precision = {
        count: mean_precision(
            replace(rows, text={"latent": texts[:, :count]}, video={"latent": videos[:, :count]}),
            replace(scoring, space="latent"),
        )
        for count in component_counts(directions.shape[1])
    }
    return {"normalised_variances": components.normalised_variances.tolist(), "map": precision}


def correlation_curves(
    first: Space,
    second: Space,
    caption_video: Int64[Tensor, " captions"],
    flags: ComplementarityFlags,
) -> list[dict[str, Any]]:
    """Figure 4.5: canonical correlations between two spaces, of captions, of videos, and of both stacked.

    Fitted on half of the videos, drawn with --seed, and all their captions; the others are held out, so that no video
    is on both sides; at most --samples of each. The --pairs pairs: no more than either space has dimensions, and one
    fewer than it has fitted samples.
    """
    num_videos = len(first[1])
    if num_videos < 4:
        raise DatasetError(
            f"canonical correlations with held-out videos need at least 4 videos; there are {num_videos}"
        )
    order = torch.randperm(num_videos, generator=torch.Generator().manual_seed(flags.seed))
    fitted_videos = torch.zeros(num_videos, dtype=torch.bool)
    fitted_videos[order[: num_videos // 2]] = True
    curves, of_captions = [], fitted_videos[caption_video]
    sides = {
        "captions": (first[0], second[0], of_captions),
        "videos": (first[1], second[1], fitted_videos),
        "stacked": (torch.cat(first), torch.cat(second), torch.cat([of_captions, fitted_videos])),
    }
    for side, (one, other, fitted) in sides.items():
        fit, rest = (_sample(mask, flags.samples, flags.seed) for mask in (fitted, ~fitted))
        pairs = canonical_correlations(one[fit], other[fit], ridge=flags.ridge, top=flags.pairs)
        held_out = pairs.correlations(one[rest], other[rest])
        numbers = {"fitted": pairs.fitted.tolist(), "held_out": held_out.tolist()}
        curves.append({"side": side, "samples": len(fit), **numbers})
    return curves


def _sample(mask: Tensor, most: int, seed: int) -> Int64[Tensor, " sampled"]:
    places = mask.nonzero().squeeze(1)
    order = torch.randperm(len(places), generator=torch.Generator().manual_seed(seed))
    return places[order[:most].sort().values]


def compared(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Runs, Table 4.1's means over runs, tests of their differences (Z and Welch's t), and dimension studies."""
    values: dict[tuple[str, str], list[Mapping[str, float]]] = {}
    for scoring in ("latent", "concept", "two spaces"):
        for run in runs:
            if scoring in run["figures"]:
                values.setdefault((scoring, run["way"]), []).append(run["figures"][scoring])
    ensembles = [
        {
            "scoring": scoring,
            "way": way,
            "figures": {name: _finite(asdict(spread([run[name] for run in own]))) for name in own[0]},
        }
        for (scoring, way), own in values.items()
    ]
    tests = []
    for (first, own), (second, other) in itertools.combinations(values.items(), 2):
        for name in TESTED:
            test = difference([run[name] for run in own], [run[name] for run in other])
            if first[0] == second[0] and test is not None:
                pair = {"scoring": first[0], "figure": name, "first": first[1], "second": second[1]}
                tests.append({**pair, **_finite(asdict(test))})
    return {"runs": list(runs), "ensembles": ensembles, "differences": tests, "dimension_studies": list(_studies(runs))}


def _studies(runs: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Figures 4.1 to 4.3: metrics of spaces that were trained alone in three dimensions or more, alike otherwise."""
    for place, space in enumerate(("latent", "concept")):
        alone = [run for run in runs if list(run["figures"]) == [space]]
        for study in dict.fromkeys(run["study"] for run in alone):
            own = [run for run in alone if run["study"] == study]
            dims = [run["dims"][place] for run in own]
            if len(set(dims)) >= FEWEST_DIMENSIONS:
                metrics = {name: [run["figures"][space][name] for run in own] for name in STUDIED}
                yield {
                    "space": space,
                    "study": study,
                    "dims": dims,
                    **metrics,
                    "stable": list(stable_region(dims, metrics["map"])),
                }


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def figures(values: Mapping[str, Any]) -> dict[str, Figure]:
    """Figures 4.1 to 4.5 from the numbers, as far as there are any, by file name."""
    runs, drawn = values["runs"], {}
    if any(run["correlations"] for run in runs):
        drawn["correlations"] = _correlations(runs)
    if any(run["components"] for run in runs):
        drawn["components"] = _components(runs)
    for number, study in enumerate(values["dimension_studies"], 1):
        drawn[f"dimensions_{study['space']}_{number}"] = _dimensions(study)
    return drawn


def _correlations(runs: Sequence[Mapping[str, Any]]) -> Figure:
    """Figure 4.5, captions, videos and both stacked: the mean curve of each way of training, fitted and held out."""
    figure = blank_figure(18, 4.5)
    for place, axes in enumerate(figure.subplots(1, 3, sharey=True)):
        for number, way in enumerate(dict.fromkeys(run["way"] for run in runs if run["correlations"])):
            curves = [run["correlations"][place] for run in runs if run["way"] == way and run["correlations"]]
            pairs = min(len(curve["fitted"]) for curve in curves)
            for part, style in (("fitted", "-"), ("held_out", "--")):
                mean = np.mean([curve[part][:pairs] for curve in curves], axis=0)
                axes.plot(range(1, pairs + 1), mean, style, color=f"C{number % 10}", label=f"{way}, {part}")
        name_axes(axes, "canonical pair", "correlation", ("captions", "videos", "stacked")[place])
        axes.legend(fontsize=7)
    return figure


def _components(runs: Sequence[Mapping[str, Any]]) -> Figure:
    """Figure 4.4: normalised variances, and mAP after keeping the first components."""
    figure = blank_figure(12, 4.5)
    left, right = figure.subplots(1, 2)
    for run in runs:
        if (curve := run["components"]) is not None:
            variances = curve["normalised_variances"]
            left.plot(range(1, len(variances) + 1), variances, label=run["way"])
            right.plot(list(curve["map"]), [100 * v for v in curve["map"].values()], marker=".", label=run["way"])
    left.set(xscale="log", yscale="log")
    right.set_xscale("log", base=2)
    name_axes(left, "component", "share of the variance", "latent space: normalised variances")
    name_axes(right, "components kept", "mean mAP, %", "retrieval with the first components")
    right.legend(fontsize=7)
    return figure


def _dimensions(study: Mapping[str, Any]) -> Figure:
    """Figures 4.1 to 4.3: mAP of each direction and their mean, SumR and R@1 against the dimension, with the stable
    region.
    """
    figure, (low, high) = blank_figure(28, 4.2), study["stable"]
    panels = {
        "mAP text to video, %": ("t2v_map",),
        "mAP video to text, %": ("v2t_map",),
        "mean mAP, %": ("map",),
        "SumR": ("sum_r",),
        "R@1, %": ("t2v_r1", "v2t_r1"),
    }
    for axes, (heading, names) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        for name in names:
            axes.plot(study["dims"], study[name], "o", markersize=4, label=name)
        axes.axvspan(low, high, color="#55a868", alpha=0.15, linewidth=0)
        axes.set_xscale("log", base=2)
        name_axes(axes, "dimensions", heading, f"{study['study']} space alone; stable from {low} to {high}")
        axes.legend(fontsize=8)
    return figure
