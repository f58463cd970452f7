"""What mkdocs calls while it builds the site: navigation by patterns, pages made from the code, links out of docs/."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.make.made_pages import made_pages
from docs.make.navigation import expanded
from docs.make.outside import OUTSIDE, inside, site_links

_MADE = made_pages()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation with its patterns replaced by the pages that are there."""
    config.nav = expanded(config.nav, [*_MADE, *OUTSIDE.values()])
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are made from the code, and those that lie elsewhere in the repository."""
    for name, text in {**_MADE, **inside()}.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """The page with links to files outside docs/ as the site has them."""
    return site_links(markdown, page.file.src_uri)
