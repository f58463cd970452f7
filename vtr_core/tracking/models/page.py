"""What MLflow's page of a registered model says of it: what goes in, what comes out, and how to ask for it."""

from vtr_core.run.models import ModelConfig, system_of


def model_page(model: ModelConfig, name: str, alias: str) -> str:
    """The description, in Markdown, of models registered as `name`; `alias` is of their newest."""
    system = system_of(model)
    use = system.implementation().use(model)
    column = f'["{use.asked}"]' if use.asked else ""
    task = "" if system.evaluation == "retrieval" else f"--task {system.evaluation} "
    lines = [
        use.text,
        "",
        "```",
        f'model = mlflow.pyfunc.load_model("models:/{name}@{alias}")',
        f"model.predict(pandas.DataFrame({use.given})){column}",
        "```",
        "",
        f"`vtr evaluate models:/{name}@{alias} {task}--data URI`",
        "",
        f'`pip install -r` what `mlflow.pyfunc.get_model_dependencies("models:/{name}@{alias}")` names is enough: the '
        "model carries the code that loads it, of the vtr that the version's description names. An installed vtr goes "
        "first.",
    ]
    return "\n".join(lines) + "\n"
