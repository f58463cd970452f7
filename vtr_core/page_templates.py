"""The template environment of self-contained HTML pages."""

import jinja2


def page_environment(package: str) -> jinja2.Environment:
    """The templates of a package's folder `templates`: everything is escaped, and undefined names are errors."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package, "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
