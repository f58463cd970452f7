"""The table of all finished groups as a page, and the figures of the finished models."""

from pipelines.systems.siamese.tables.finished import finished_figures, finished_rows, group_folder
from pipelines.systems.siamese.tables.flags import SiameseTableFlags
from pipelines.systems.siamese.tables.plan import FacePlan
from vtr_core.uris import below


def write(plan: FacePlan) -> str:
    """Writes `table.md` and `table.json` of all finished groups and returns the page."""
    from vtr_core import storage
    from vtr_core.storage import locate
    from pipelines.systems.siamese.tables.paper import markdown

    figures, groups = finished_rows(plan), len(plan.splits)
    page = f"{_head(plan)}\n{markdown(plan.table, figures, groups, plan.size)}"
    storage.write_bytes(locate(plan.flags.out) / "table.md", page.encode())
    storage.write_json(locate(plan.flags.out) / "table.json", {"groups": groups, "figures": figures})
    return page


def draw_figures(plan: FacePlan) -> None:
    """Writes `figures.svg`, the paper's Figures 1 and 2, of all rows that have finished the first group of any."""
    from pipelines.report.links import print_link
    from vtr_core import storage
    from vtr_core.storage import locate
    from pipelines.systems.siamese.tables.figures import draw, drawn_model

    for number in range(len(plan.splits)):
        done = [row for row in plan.table.rows if finished_figures(plan, row, number) is not None]
        if done:
            break
    else:
        return
    part, run = (f"group-{number}-refit", "refit") if plan.flags.margins else (f"group-{number}", "run")
    data = below(plan.flags.out, f"data/{part}/test")
    models = [drawn_model(row.title, below(group_folder(plan, row, number), run), data) for row in done]
    storage.write_bytes(locate(plan.flags.out) / "figures.svg", draw(models))
    print_link(locate(plan.flags.out) / "figures.svg")


def _head(plan: FacePlan) -> str:
    flags = plan.flags
    settings = "".join(f" --{name} {value}" for name, value in plan.changes.items())
    return (
        f"# Siamese capsule networks: Table 1, {plan.table.title}, on {flags.faces or flags.lfw}\n\nVariants of "
        f"`{plan.preset}`{settings}; {_rounds(flags, len(plan.splits))}.\n"
    )


def _rounds(flags: SiameseTableFlags, groups: int) -> str:
    if flags.lfw is not None:
        return f"{groups} folds of View 2 test in turn, the next one validates, the people of all others train"
    tested = f"{groups} disjoint groups of {flags.group_size} test subjects"
    if not flags.margins:
        return f"{tested}, the next group validates, all others train"
    margins = ", ".join(f"{margin:g}" for margin in flags.margins)
    return (
        f"{tested}, all others train, after {flags.folds}-fold cross-validation by subject over them for the margin "
        f"(of {margins}) and the threshold"
    )
