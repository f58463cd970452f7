"""Upper bound of recall from the data set's ground truth."""

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.schema import ClipSchema
from vtr_core.data.sources.synthetic.clips import Synthetic
from vtr_core.data.worlds.ceiling import best_possible
from vtr_core.data.worlds.clips import SyntheticSettings


def best_possible_recall(manifest: Manifest) -> dict[str, dict[int, float]]:
    """The greatest attainable expected recall at 1, 5 and 10 by direction.

    Empty for all but synthetic data of clips. The bound of text → video holds for text → video+audio as well: it is
    computed from the ground truth, of which video and audio are noisy observations.
    """
    if manifest.source["adapter"] != Synthetic.name or not isinstance(manifest.schema, ClipSchema):
        return {}
    known = SyntheticSettings.model_fields
    settings = SyntheticSettings(**{name: value for name, value in manifest.source.items() if name in known})
    reader = RowGroupReader(manifest, ["clip_id", "caption"])
    rows: list[tuple[str, str]] = []
    for place in row_groups(manifest):
        columns = reader.read(place)
        rows.extend(zip(columns["clip_id"], columns["caption"], strict=True))
    recall = best_possible(settings, rows)
    return {"t2v": recall, "t2va": recall}
