"""What a client is given: addresses, tokens, certificates, proxies, values; and what it logs and returns besides."""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Proxy, Server
from hostile import HostileServer, frame, http, observation

import openenv_ts
from openenv_ts import ConnectionLostError, OpenEnvError, RemoteError, VectorEnv, connect, connect_async
from openenv_ts.trl import for_trl

ROOT = Path(__file__).parents[2]
TOKEN = "a-secret-of-the-server"


@pytest.mark.parametrize(
    "url", ["localhost:8000", "", None, "ftp://localhost", "http://", "http://a:b", "//a", 7, "http:/a"]
)
def test_an_address_that_is_none_is_an_error_that_says_what_to_write(url: Any) -> None:
    for make in (connect, connect_async, lambda one: VectorEnv([one], 1), for_trl):
        with pytest.raises(OpenEnvError, match=r"INVALID_CONFIG.*http://localhost:8000") as raised:
            make(url)
        assert (repr(url) in str(raised.value), raised.value.fault) == (True, "client")


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(OpenEnvError, match="user name or password") as raised:
        connect("http://me:hunter2@localhost:8000")
    assert "hunter2" not in str(raised.value)


def test_a_token_with_a_line_break_is_refused_and_one_at_its_end_is_not() -> None:
    with pytest.raises(OpenEnvError, match="INVALID_CONFIG") as raised:
        connect("http://localhost:8000", token=f"{TOKEN}\nx: y")
    assert TOKEN not in str(raised.value)
    with HostileServer() as server, connect(server.url, token=f"{TOKEN}\n") as env:
        env.get("/schema")
        assert f"\r\nauthorization: Bearer {TOKEN}\r\n" in server.headers[0]


def test_a_token_is_in_no_repr_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(OPENENV_CLIENT_TOKEN=TOKEN)
    with caplog.at_level(logging.DEBUG), connect(server.url, token=TOKEN, headers={"x-key": "other-secret"}) as env:
        env.reset()
        env.step({"amount": 1})
        env.get("/schema")
        own = env._env._connection
        shown = repr([env, env._env, own.target, own.target.headers, own._key, vars(own), vars(env._env)])
        session = own._key.token
    for text in (shown, caplog.text):
        for secret in (TOKEN, "other-secret", str.__str__(session)):
            assert secret not in text
    server.kill()


def test_the_token_of_the_environment_can_be_bound_to_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENENV_TOKEN", TOKEN)
    with HostileServer() as server:
        for hosts, is_sent in (("", True), ("example.com, 127.0.0.1", True), ("example.com", False)):
            monkeypatch.setenv("OPENENV_TOKEN_HOST", hosts)
            with connect(server.url) as env:
                env.get("/schema")
                env.reset()
            assert [TOKEN in one for one in server.headers] == [is_sent] * len(server.headers)
            server.headers.clear()
        # A token that is given is meant for the server.
        with connect(server.url, token="given") as env:
            env.get("/schema")
        assert "Bearer given" in server.headers[0]


def test_a_client_shows_its_server_and_whether_it_is_open(server: Server) -> None:
    with connect(server.url) as env, VectorEnv(server.url, 2) as envs:
        assert repr(env) == f"<Env {server.url} not open>"
        env.reset()
        envs.reset()
        assert repr(env) == f"<Env {server.url} open>"
        assert repr(envs) == f"<VectorEnv {server.url} 2 of 2 open>"
        assert repr(connect_async(server.url)) == f"<AsyncEnv {server.url} not open>"


def test_the_version_is_that_of_the_package() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", openenv_ts.__version__)


def test_an_unknown_option_is_refused(server: Server) -> None:
    for make in (connect, lambda url, **given: VectorEnv(url, 1, **given), for_trl):
        with pytest.raises(TypeError, match="tokn"):
            make(server.url, tokn="x")


class Scalar:
    """What numpy, torch and others have."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def tolist(self) -> Any:
        return self.value


def test_values_of_numpy_are_actions_and_seeds(server: Server) -> None:
    numpy = pytest.importorskip("numpy")
    with connect(server.url) as env, VectorEnv(server.url, 2) as envs:
        for seed in (numpy.int64(7), numpy.array(7), Scalar(7)):
            assert env.reset(seed=seed).observation == env.reset(seed=7).observation
        assert env.step({"amount": numpy.int32(2)}).reward == 2
        assert env.step({"amount": numpy.array([1, 2])[1]}).reward == 2
        assert env.call_tool("add", {"amount": numpy.uint8(1)}).data == 5
        first = envs.reset([{"seed": seed} for seed in numpy.arange(2)])
        assert [one.observation for one in first] == [one.observation for one in envs.reset([{"seed": 0}, {"seed": 1}])]
        assert [one.reward for one in envs.step([{"amount": one} for one in numpy.array([3, 4])])] == [3, 4]
        with pytest.raises(RemoteError, match=r"VALIDATION_ERROR.*not valid JSON"):
            env.step({"amount": numpy.float64("nan")})
        with pytest.raises(RemoteError, match=r"VALIDATION_ERROR.*object has no JSON form"):
            env.step({"amount": object()})
        assert env.step({"amount": 1}).reward == 1


def test_the_package_does_not_import_numpy() -> None:
    path = str(Path(openenv_ts.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {path!r}); import openenv_ts, openenv_ts.trl; print('numpy' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "False\n"


def test_warnings_of_the_server_are_in_the_result(server: Server) -> None:
    with connect(server.url) as env, VectorEnv(server.url, 2) as envs:
        [warning] = env.reset(sed=7).warnings
        assert "sed" in warning
        assert env.reset(seed=7).warnings == []
        first, second = envs.reset([{"seed": 1}, {"sed": 1}])
        assert (first.warnings, len(second.warnings)) == ([], 1)


def test_a_session_that_the_environment_reports_as_lost_is_lost() -> None:
    with HostileServer() as server:
        server.on_step = lambda write, seq: write(
            frame({"type": "error", "data": {"code": "SESSION_LOST", "message": "the browser crashed"}, "seq": seq})
        )
        with connect(server.url) as env:
            env.reset()
            with pytest.raises(ConnectionLostError, match=r"SESSION_LOST.*the browser crashed") as raised:
                env.step({})
            assert (raised.value.outcome, raised.value.fault) == ("lost", "infrastructure")
            with pytest.raises(ConnectionLostError, match="SESSION_LOST"):
                env.step({})
            assert env.reset().observation == {"count": 1}


def test_the_fault_is_that_of_the_server_else_of_the_code() -> None:
    def fault(code: str, **details: Any) -> str:
        return RemoteError(code, "", details).fault

    assert fault("EXECUTION_ERROR") == "environment"
    assert fault("EXECUTION_ERROR", fault="infrastructure") == "infrastructure"
    assert fault("EXECUTION_ERROR", openenv_code="NO_EPISODE") == "client"
    assert fault("VALIDATION_ERROR", fault=["odd"]) == "client"
    assert [fault("REQUEST_FAILED", status=status) for status in (404, 429, 500)] == ["client", *["infrastructure"] * 2]
    assert ConnectionLostError("SESSION_LOST", "").fault == "infrastructure"


def test_a_result_without_an_answer_says_whose_fault_it_is(server: Server) -> None:
    with VectorEnv(server.url, 2) as envs:
        envs.reset()
        wrong, right = envs.step([{"amount": "x"}, {"amount": 1}])
        assert (wrong.fault, wrong.metadata["fault"], right.fault) == ("client", "client", None)


def test_what_happens_to_sessions_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    proxy = Proxy(server.url)

    def logged() -> list[tuple[str, str]]:
        found = [(one.levelname, one.getMessage()) for one in caplog.records if one.name == "openenv_ts"]
        caplog.clear()
        return found

    with caplog.at_level(logging.INFO, "openenv_ts"), connect(proxy.url, timeout=5) as env:
        env.reset()
        proxy.cut()
        env.step({"amount": 1})
        [(level, text)] = logged()
        assert level == "INFO"
        assert re.match(rf"recovered a session on {re.escape(proxy.url)} after \d+\.\d s", text)
        server.kill()
        with pytest.raises(ConnectionLostError):
            env.step({"amount": 1})
        waiting, lost = logged()
        assert waiting[1].startswith(f"waiting for {proxy.url}: ")
        assert (waiting[0], lost[0]) == ("WARNING", "WARNING")
        assert lost[1].startswith(f"lost a session on {proxy.url}: CLIENT_TIMEOUT")
        with pytest.raises(ConnectionLostError):
            env.reset()
        # A client that waits says so once a minute.
        assert logged() == []
    proxy.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    key = path.with_suffix(".key")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", path]
    subprocess.run([*request, *names], check=True, capture_output=True)
    path.write_text(path.read_text() + key.read_text())
    return path


class TlsProxy(Proxy):
    """Ends TLS in front of a server."""

    def __init__(self, url: str, certificate: Path) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        super().__init__(url)
        self.url = self.url.replace("http://127.0.0.1", "https://localhost")

    def _wrap(self, client: socket.socket) -> socket.socket:
        return self._context.wrap_socket(client, server_side=True)


@pytest.fixture(scope="module")
def secure(certificate: Path) -> Iterator[tuple[str, ssl.SSLContext]]:
    server = Server()
    proxy = TlsProxy(server.url, certificate)
    yield proxy.url, ssl.create_default_context(cafile=str(certificate))
    proxy.close()
    server.kill()


async def play(env: Any) -> list[Any]:
    async with env:
        await env.reset()
        return [(await env.step({"amount": 2})).reward, "action" in await env.get("/schema")]


def test_a_certificate_of_the_own_is_accepted_with_its_context(secure: tuple[str, ssl.SSLContext]) -> None:
    url, context = secure
    with connect(url, ssl_context=context) as env:
        env.reset()
        assert env.step({"amount": 2}).reward == 2
        assert "action" in env.get("/schema")
    assert asyncio.run(play(connect_async(url, ssl_context=context))) == [2, True]
    with connect(url) as env, pytest.raises(ConnectionLostError, match="CERTIFICATE_VERIFY_FAILED"):
        env.reset()
    with connect(url) as env, pytest.raises(ConnectionLostError, match="CERTIFICATE_VERIFY_FAILED"):
        env.get("/schema")


class HttpProxy:
    """A proxy for CONNECT requests."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.heads: list[str] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.recv(1)
        self.heads.append(head.decode())
        host, port = head.split(b" ")[1].decode().rsplit(":", 1)
        if "Basic bWU6aHVudGVyMg==" not in self.heads[-1]:
            client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            client.close()
            return
        upstream = socket.create_connection((host, int(port)))
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        threading.Thread(target=pass_on, args=(client, upstream), daemon=True).start()
        pass_on(upstream, client)

    def close(self) -> None:
        self._listener.close()


def pass_on(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            target.sendall(data)
    except OSError:
        pass
    for one in (source, target):
        one.close()


def test_https_goes_through_the_proxy_of_the_environment(
    secure: tuple[str, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, context = secure
    proxy = HttpProxy()
    for name in ("NO_PROXY", "no_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:hunter2@127.0.0.1:{proxy.port}")
    with connect(url, ssl_context=context) as env:
        env.reset()
        assert env.step({"amount": 2}).reward == 2
        assert "action" in env.get("/schema")
    assert len(proxy.heads) == 2
    assert proxy.heads[0].startswith(f"CONNECT {url.removeprefix('https://')} HTTP/1.1\r\n")
    assert asyncio.run(play(connect_async(url, ssl_context=context))) == [2, True]
    assert len(proxy.heads) == 4
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
    with (
        connect(url, ssl_context=context) as env,
        pytest.raises(ConnectionLostError, match=r"the proxy .* answered 407"),
    ):
        env.reset()
    monkeypatch.setenv("NO_PROXY", "localhost")
    with connect(url, ssl_context=context) as env:
        env.reset()
    assert len(proxy.heads) == 5
    proxy.close()


def test_the_examples_of_the_page_have_no_type_errors(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    page = (ROOT / "docs/guide/python.md").read_text()
    examples = re.findall(r"^```python.*?\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(examples) >= 4
    for index, code in enumerate(examples):
        (tmp_path / f"example_{index}.py").write_text(code)
    config = tmp_path / "mypy.ini"
    # The package is read as one that is installed; checking numpy and gymnasium takes minutes on a busy machine.
    own = "[mypy-openenv_ts.*]\nfollow_imports = silent\n[mypy-numpy.*,gymnasium.*]\nfollow_imports = skip\n"
    config.write_text(f"[mypy]\nstrict = True\nmypy_path = {Path(openenv_ts.__file__).parents[1]}\n{own}")
    command = [sys.executable, "-m", "mypy", "--config-file", config, *sorted(tmp_path.glob("*.py"))]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (checked.stdout.splitlines()[-1:], checked.returncode) == (
        [f"Success: no issues found in {len(examples)} source files"],
        0,
    ), checked.stdout


def test_an_answer_of_a_good_server_is_read() -> None:
    with HostileServer() as server, connect(server.url) as env:
        server.on_http = lambda write, _path: write(http('{"action": {}}'))
        assert env.get("/schema") == {"action": {}}
        assert env.reset().observation == observation(1)["data"]["observation"]
