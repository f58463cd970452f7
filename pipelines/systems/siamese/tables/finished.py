"""The stored figures of rows and groups that were trained and evaluated before."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vtr_core.errors import RunConflict
from pipelines.systems.siamese.tables.plan import FacePlan
from pipelines.systems.siamese.tables.row_config import row_config
from vtr_core.uris import below

if TYPE_CHECKING:
    from pipelines.systems.siamese.tables.paper import PaperRow

FILE = "figures.json"


def finished_figures(plan: FacePlan, row: "PaperRow", number: int) -> Mapping[str, float] | None:
    """Stored metrics of a row and group; RunConflict where they are of another split."""
    from vtr_core import storage
    from vtr_core.storage import locate

    place = locate(group_folder(plan, row, number)) / FILE
    if not storage.exists(place):
        return None
    saved = storage.read_json(place)
    if saved["split"] != {name: list(part) for name, part in vars(plan.splits[number]).items()}:
        raise RunConflict(
            f"{place} is of other subjects or of another way to validate than this table; repeat its --seed, "
            "--group-size and --margins, or choose another --out"
        )
    return saved["figures"]


def check_settings(plan: FacePlan, row: "PaperRow") -> None:
    """RunConflict where a row's figures were made with other settings than these."""
    from pipelines.tables.runs import check_against
    from vtr_core import storage
    from vtr_core.storage import locate

    config = row_config(plan, row)
    for number in range(len(plan.splits)):
        place = locate(group_folder(plan, row, number)) / FILE
        if storage.exists(place):
            check_against(storage.read_json(place).get("settings"), config, str(place))


def group_folder(plan: FacePlan, row: "PaperRow", number: int) -> str:
    """The folder of a row's figures and runs for one group."""
    return below(plan.flags.out, f"{row.name}/group-{number}")


def finished_rows(plan: FacePlan) -> dict[str, list[Mapping[str, float]]]:
    """By row, the metrics of each finished group."""
    figures: dict[str, list[Mapping[str, float]]] = {}
    for row in plan.table.rows:
        found = [finished_figures(plan, row, number) for number in range(len(plan.splits))]
        figures[row.name] = [values for values in found if values is not None]
    return figures
