"""The Hugging Face hub, by its own client against a server of ours that answers as the hub does."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from vtr_core.errors import ConfigError
from vtr_core.storage.fault import StorageError
from vtr_core.storage.hub import fetch_from_hub, publish_to_hub

COMMIT = "a" * 40


class Hub(BaseHTTPRequestHandler):
    """Repositories in memory: creation, a commit of small files, listing, download."""

    protocol_version = "HTTP/1.1"
    files: dict[str, bytes]
    made: list[dict[str, Any]]

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.endswith("/repos/create"):
            self.made.append(json.loads(body))
            self._answer({"url": f"http://{self.headers['Host']}/me/model", "id": "me/model"})
        elif "/preupload/" in self.path:
            how = {"uploadMode": "regular", "shouldIgnore": False}
            self._answer({"files": [{"path": file["path"], **how} for file in json.loads(body)["files"]]})
        elif "/commit/" in self.path:
            for line in body.splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    self.files[entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
            url = f"http://{self.headers['Host']}/me/model/commit/{COMMIT}"
            self._answer({"commitUrl": url, "commitOid": COMMIT, "success": True})
        else:
            self._answer({"valid": True})

    def do_GET(self) -> None:
        if "/resolve/" in self.path:
            self._file(self.path.split(f"/resolve/{COMMIT}/")[1].partition("?")[0], True)
        elif "/api/models/me/model/tree/" in self.path:
            listed = [{"path": name, "size": len(held)} for name, held in self.files.items()]
            self._answer([{"type": "file", "oid": file["path"], **file} for file in listed])
        elif "/api/models/me/model" in self.path:
            self._answer({"id": "me/model", "sha": COMMIT, "siblings": [{"rfilename": name} for name in self.files]})
        else:
            self._answer({"error": "Repository not found"}, 404)

    def do_HEAD(self) -> None:
        self._file(self.path.split(f"/resolve/{COMMIT}/")[1].partition("?")[0], False)

    def _file(self, name: str, whole: bool) -> None:
        content = self.files[name]
        self.send_response(200)
        self.send_header("ETag", f'"{name}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if whole:
            self.wfile.write(content)

    def _answer(self, value: object, status: int = 200) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[type[Hub]]:
    handler = type("Handler", (Hub,), {"files": {}, "made": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr("vtr_core.storage.hub.client", lambda: huggingface_hub.HfApi(endpoint=endpoint, token="t"))
        monkeypatch.setattr("huggingface_hub._snapshot_download.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
        yield handler
        server.shutdown()


def test_a_folder_is_published_and_fetched(hub: type[Hub], tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "README.md").write_text("# A model")
    assert publish_to_hub(folder, "me/model", public=False).endswith(f"/commit/{COMMIT}")
    assert hub.made[0]["visibility"] == "private"
    fetched = fetch_from_hub("hub:me/model")
    assert {file.name: file.read_text() for file in fetched.iterdir()} == {
        "config.json": "{}",
        "README.md": "# A model",
    }


def test_what_is_not_there_is_said(hub: type[Hub]) -> None:
    with pytest.raises(StorageError, match="hub:me/other cannot be read"):
        fetch_from_hub("hub:me/other")


@pytest.mark.parametrize("name", ["model", "me/", "/model", "me/a/b", "me/../x"])
def test_other_names_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give hub:owner/name"):
        publish_to_hub(tmp_path, name, public=False)
