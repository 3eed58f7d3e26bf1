"""The official release, from a server on this machine."""

import hashlib
import http.server
import io
import socket
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlcc_infra.engine import download
from mlcc_infra.engine.model import SourceUnavailableError

CHECKSUMS = "pulumi-3.276.0-checksums.txt"


class Releases:
    """A folder served on the loopback."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.environ = {"MLCC_PULUMI_RELEASES": url, "PATH": "/usr/bin:/bin"}

    def publish(
        self, *, version: str = "v3.276.0", digest: str | None = None, name: str | None = None
    ) -> None:
        """Put a release there."""
        content = f"#!{sys.executable}\nprint({version!r})\n".encode()
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz") as tar:
            for member in (
                "pulumi/pulumi",
                "pulumi/pulumi-language-python",
                "../../pulumi-escaped",
                "pulumi/README",
            ):
                info = tarfile.TarInfo(member)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        file = name or download.archive_name()
        (self.folder / file).write_bytes(archive.getvalue())
        found = digest or hashlib.sha256(archive.getvalue()).hexdigest()
        (self.folder / CHECKSUMS).write_text(f"{'0' * 64}  another.zip\n{found}  {file}\n")


@pytest.fixture
def releases(tmp_path: Path) -> Iterator[Releases]:
    """A server with nothing on it."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(folder))  # pyright: ignore[reportArgumentType]

        def log_message(self, format: str, *args: object) -> None:
            """Silence."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield Releases(folder, f"http://127.0.0.1:{server.server_address[1]}")
    server.shutdown()
    server.server_close()


def test_release_is_verified_and_unpacked_side_by_side(releases: Releases, tmp_path: Path) -> None:
    releases.publish()
    download.download(tmp_path / "download", releases.environ, print)
    names = sorted(file.name for file in (tmp_path / "download" / "bin").iterdir())
    assert names == ["pulumi", "pulumi-escaped", "pulumi-language-python"]
    assert not list(tmp_path.glob("pulumi-escaped"))


@pytest.mark.parametrize(
    ("published", "message"),
    [
        ({"digest": "f" * 64}, "Pulumi published ffff"),
        ({"version": "v3.275.0"}, "not 3.276.0"),
        ({"name": "pulumi-v3.276.0-windows-x64.zip"}, "does not name pulumi-v3.276.0"),
    ],
)
def test_release_that_is_not_what_it_should_be_is_not_used(
    releases: Releases, tmp_path: Path, published: dict[str, str], message: str
) -> None:
    releases.publish(**published)
    with pytest.raises(SourceUnavailableError, match=message):
        download.download(tmp_path / "download", releases.environ, print)
    assert not (tmp_path / "download").exists()


def test_missing_release_falls_through_in_one_line(releases: Releases, tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailableError) as error:
        download.download(tmp_path / "download", releases.environ, print)
    assert str(error.value).endswith(f"/{CHECKSUMS}: HTTP 404")
    assert "\n" not in str(error.value)


def test_server_that_never_answers_falls_through_within_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "TIMEOUT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:  # accepts, and says nothing
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        started = time.monotonic()
        with pytest.raises(SourceUnavailableError):
            download.download(tmp_path / "download", {"MLCC_PULUMI_RELEASES": url}, print)
    assert time.monotonic() - started < 3
