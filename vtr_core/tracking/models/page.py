"""The description of a registered model on its MLflow page: inputs, outputs, and how to call it."""

from vtr_core.run.models import ModelConfig, system_of


def model_page(model: ModelConfig, name: str, alias: str) -> str:
    """The description, in Markdown, of models registered as `name`; `alias` points to the newest."""
    system = system_of(model)
    signature = system.implementation().signature(model)
    column = f'["{signature.example_output}"]' if signature.example_output else ""
    task = "" if system.evaluation == "retrieval" else f"--task {system.evaluation} "
    lines = [
        signature.description,
        "",
        "```",
        f'model = mlflow.pyfunc.load_model("models:/{name}@{alias}")',
        f"model.predict(pandas.DataFrame({signature.example_input})){column}",
        "```",
        "",
        f"`vtr evaluate models:/{name}@{alias} {task}--data URI`",
        "",
        f'`pip install -r` what `mlflow.pyfunc.get_model_dependencies("models:/{name}@{alias}")` names is enough: the '
        "model carries the code that loads it, of the vtr that the version's description names. An installed vtr goes "
        "first.",
    ]
    return "\n".join(lines) + "\n"
