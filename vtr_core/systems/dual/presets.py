"""Presets of the dual encoder, the variants of the thesis's tables, and search spaces."""

from vtr_core.config.data_sets import PUBLISHED_CAPTIONS, BatchConfig, CaptionText, ConceptText
from vtr_core.config.override import ModelInputs
from vtr_core.config.pretrained import EncoderRecord
from vtr_core.config.run import Change, OptimizerConfig, Row, ScalingConfig, TrainingConfig
from vtr_core.config.search_space import Choice, LogUniform, Parameter, Space, Uniform
from vtr_core.config.towers import TemporalLevelsConfig
from vtr_core.systems.dual.config import DualTripletConfig, HybridEncoderConfig
from vtr_core.systems.system import Presets

_TINY_LEVELS = TemporalLevelsConfig(hidden_dim=32, num_filters=48, kernel_sizes=(2, 3))

_BASES = {
    "hybrid-msrvtt": Row(
        about="dual encoder: a latent space and 512 named concepts, at the published sizes",
        starter=True,
        model=HybridEncoderConfig(),
        loss=DualTripletConfig(),
        batch=BatchConfig(videos=128, clips_per_video=1, epoch="captions"),
        optimizer=OptimizerConfig(
            learning_rate=1e-4,
            schedule="constant",
            gradient_clip=2.0,
            epoch_decay=0.99,
            plateau_decay=0.5,
            plateau_patience=3,
        ),
        training=TrainingConfig(epochs=50, patience=10),
    ),
    "hybrid-msrvtt-tiny": Row(
        about="the same, small: a minute on two CPU cores",
        starter=True,
        model=HybridEncoderConfig(
            inputs=ModelInputs(word_dim=64), latent_dim=128, num_concepts=32, video=_TINY_LEVELS, text=_TINY_LEVELS
        ),
        loss=DualTripletConfig(),
        batch=BatchConfig(videos=64, clips_per_video=1),
        optimizer=OptimizerConfig(learning_rate=1e-3, schedule="constant", gradient_clip=2.0, epoch_decay=0.99),
        training=TrainingConfig(epochs=20, validate_every=5),
        scaling=ScalingConfig(workers=2),
    ),
}

_VARIANTS = {
    "latent": Row(
        about="Table 5.3: latent alone, of as many dimensions as both spaces have together",
        of_model=lambda model: Change(model=HybridEncoderConfig(latent_dim=model.latent_dim + model.num_concepts)),
        model=HybridEncoderConfig(num_concepts=None),
    ),
    "concept": Row(about="Table 5.3: concepts alone, by Jaccard", model=HybridEncoderConfig(latent_dim=None)),
    "concept-256": Row(
        about="Table 5.3: half as many concepts alone, by Jaccard",
        like=("concept",),
        of_model=lambda model: Change(model=HybridEncoderConfig(num_concepts=model.num_concepts // 2)),
    ),
    "cosine": Row(
        about="Table 5.3: concepts alone, by cosine",
        like=("concept",),
        model=HybridEncoderConfig(concept_similarity="cosine"),
    ),
    "cosine-256": Row(about="Table 5.3: half as many concepts alone, by cosine", like=("concept-256", "cosine")),
    "homogeneous": Row(
        about="Table 4.1: two latent spaces, both by cosine",
        model=HybridEncoderConfig(concept_similarity="cosine"),
        loss=DualTripletConfig(concept_weight=0.0),
    ),
    "heterogeneous": Row(
        about="Table 4.1: two latent spaces, one by Jaccard", loss=DualTripletConfig(concept_weight=0.0)
    ),
    "latent-alone": Row(about="Table 4.1: the latent space alone", model=HybridEncoderConfig(num_concepts=None)),
    "equal": Row(
        about="Section 4.4: two spaces of one size",
        of_model=lambda model: Change(model=HybridEncoderConfig(latent_dim=model.num_concepts)),
    ),
    "equal-latent": Row(
        about="Table 4.1: one latent space of that size; two trainings' scores are added",
        like=("equal", "latent-alone"),
    ),
    "equal-homogeneous": Row(about="Table 4.1: homogeneous spaces of one size", like=("equal", "homogeneous")),
    "equal-heterogeneous": Row(about="Table 4.1: heterogeneous spaces of one size", like=("equal", "heterogeneous")),
    "pos-text": Row(about="Figure 3.3: words with their part of speech", captions=CaptionText(tagged=True)),
    "pos-concepts": Row(about="Figure 3.2: concepts with their part of speech", concepts=ConceptText(pos=True)),
    "pos": Row(about="Table 3.2: parts of speech in text and concepts", like=("pos-text", "pos-concepts")),
    "concept-pos": Row(about="Tables 3.2 to 3.4: concepts alone, with parts of speech", like=("concept", "pos")),
    "concept-pos-text": Row(about="concept-pos in text alone", like=("concept", "pos-text")),
    "concept-pos-concepts": Row(about="concept-pos in concepts alone", like=("concept", "pos-concepts")),
    "binary": Row(about="Section 3.2.1: binary labels", loss=DualTripletConfig(labels="binary")),
    # Not theirs: that has the 11,147 words of at least five descriptions, unfiltered, and its own visual features.
    "interpretable": Row(
        about="Table 3.4: concepts learned by detection alone, after Wu and Ngo 2020",
        like=("concept", "binary"),
        loss=DualTripletConfig(ranks_concepts=False),
    ),
    "text": Row(
        about="a pretrained sentence encoder as a fourth level of the text",
        model=HybridEncoderConfig(text_encoder=EncoderRecord()),
    ),
}

_RECIPES = {
    # Padding, repeated captions, initial weights, epochs and learning rate schedule of the published code, and words
    # and concepts of the thesis. An epoch of that code passes over all captions, as those of the preset of published
    # sizes do; those of the small one pass over the videos, whose captions take turns.
    "published": Row(
        about="as the published code trains",
        model=HybridEncoderConfig(compat="hybrid_space", initialization="hybrid_space"),
        loss=DualTripletConfig(compat="hybrid_space"),
        captions=PUBLISHED_CAPTIONS,
        concepts=ConceptText(parts="n,v,j,a,p,c", stop_words="nltk"),
        batch=BatchConfig(captions="every", remainder="filled"),
        optimizer=OptimizerConfig(plateau="old_rate"),
    ),
}

_LOG_GRID = (32, 64, 128, 256, 512, 1024, 2048)
_OCTAVES = tuple(round(16 * 2 ** (number / 10)) for number in range(121))
"""Ten values per octave from 16 to 65,536 (Figures 4.1 to 4.3); a grid leaves out more concepts than there are."""

DUAL_PRESETS = Presets(
    _BASES,
    _VARIANTS,
    _RECIPES,
    spaces=(
        Space(
            "hybrid-msrvtt",
            "hybrid-msrvtt",
            {
                "model.latent_dim": Parameter(Choice((512, 1024, 1536, 2048))),
                "model.num_concepts": Parameter(Choice((128, 256, 512, 1024))),
                "model.concept_similarity": Parameter(Choice(("jaccard", "cosine"))),
                "evaluation.latent_weight": Parameter(Uniform(0.0, 1.0)),
                "loss.margin": Parameter(Uniform(0.05, 0.4)),
                "optimizer.learning_rate": Parameter(LogUniform(2e-5, 1e-3)),
            },
        ),
        Space(
            "hybrid-msrvtt-tiny",
            "hybrid-msrvtt-tiny",
            {
                "model.latent_dim": Parameter(Choice((16, 32, 64, 128))),
                "model.num_concepts": Parameter(Choice((8, 16, 32))),
                "model.concept_similarity": Parameter(Choice(("jaccard", "cosine"))),
                "evaluation.latent_weight": Parameter(Uniform(0.0, 1.0)),
                "loss.margin": Parameter(Uniform(0.05, 0.4)),
                "optimizer.learning_rate": Parameter(LogUniform(2e-4, 5e-3)),
            },
        ),
        # The dimension studies of chapter 4: one space alone (vtr sweep … --search grid).
        *(
            Space(f"{space}-{grid}", f"hybrid-msrvtt-{space}", {setting: Parameter(Choice(values))})
            for grid, values in {"dimensions": _LOG_GRID, "octaves": _OCTAVES}.items()
            for space, setting in {"latent": "model.latent_dim", "concept": "model.num_concepts"}.items()
        ),
    ),
    most_used=("loss.margin", "evaluation.latent_weight", "batch.max_frames"),
    own_settings=("concepts", "evaluation.latent_weight", "evaluation.normalise"),
)
