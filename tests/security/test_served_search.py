"""What a page of another site, or a request made to cost much, gets of `vtr serve`."""

from collections.abc import Iterator

import pytest

from tests.builders.searched import ask, dual_index, served
from vtr_core.serving.server import AppServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    with served(dual_index(tmp_path_factory.mktemp("attacked"), num_videos=4)) as made:
        yield made


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_get_nothing(site: str, server: AppServer) -> None:
    assert ask(server, "/api/search?q=video", Sec_Fetch_Site=site)[0] == 403
    assert ask(server, "/api/search", b'{"queries": ["video"]}', Sec_Fetch_Site=site)[0] == 403
    assert ask(server, "/api/search?q=video", Origin="https://evil.example")[0] == 403
    assert ask(server, "/api/search?q=video", Origin="null")[0] == 403


def test_links_and_the_page_itself_are_answered(server: AppServer) -> None:
    assert ask(server, "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200
    assert ask(server, "/api/search?q=video", Sec_Fetch_Site="same-origin")[0] == 200
    own = f"http://127.0.0.1:{server.address.port}"
    assert ask(server, "/api/search", b'{"queries": ["video"]}', Origin=own)[0] == 200


def test_a_body_is_json_by_its_type(server: AppServer) -> None:
    """Of another type a browser sends it for any page, without asking this server first."""
    body = b'{"queries": ["video"]}'
    assert ask(server, "/api/search", body)[0] == 200
    assert ask(server, "/api/search", body, Content_Type="text/plain")[0] == 400


def test_filters_are_few(server: AppServer) -> None:
    few, many = "&filter=kind%3Dx" * 16, "&filter=kind%3Dx" * 17
    assert ask(server, f"/api/search?q=video{few}")[0] == 200
    status, _, content = ask(server, f"/api/search?q=video{many}")
    assert status == 400
    assert "at most 16 items" in content["error"]
    body = b'{"queries": ["video"], "filter": [' + b", ".join([b'"kind=x"'] * 17) + b"]}"
    assert ask(server, "/api/search", body)[0] == 400


def test_a_forwarded_address_is_not_believed(server: AppServer) -> None:
    assert not server._server.config.proxy_headers
