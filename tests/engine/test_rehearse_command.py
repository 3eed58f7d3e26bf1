"""``mlcc-infra rehearse``: output and exit code are the command's, and nothing outlives or escapes it."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.engine.rehearsed import ROOT, copy_project

pytestmark = pytest.mark.engine
#: Real seconds; far more than anything here takes on two busy cores.
LIMIT = 120
#: How long processes sleep that must not outlive a rehearsal; no other test process uses this number.
SLEEP = f"300.{os.getpid()}"
LINUX = sys.platform.startswith("linux")


def command_line(*words: str, options: tuple[str, ...] = ()) -> list[str]:
    return [sys.executable, "-m", "mlcc_infra.cli", "rehearse", *options, "--", *words]


def environment(**changes: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, **changes}


def run(
    script: str,
    *,
    cwd: Path = ROOT,
    options: tuple[str, ...] = (),
    stdin: str | None = None,
    **changes: str,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command_line("bash", "-c", script, options=options),
        cwd=cwd,
        env=environment(**changes),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def marked(folder: str) -> list[str]:
    """What runs with a rehearsal's folder in its environment or arguments."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            text = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
        except OSError:
            continue
        if folder.encode() in text:
            found.append(f"{process.name} {(process / 'cmdline').read_bytes()!r}")
    return found


def wait_for_none(folder: str, seconds: float = 15) -> list[str]:
    deadline = time.monotonic() + seconds
    while (left := marked(folder)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return left


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean clone of the project's sources."""
    copied = copy_project(tmp_path_factory.mktemp("clone"))
    (copied / ".gitignore").write_text(".venv\n__pycache__/\n")
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "sources"],
    ):
        subprocess.run(["git", *words], cwd=copied, check=True)
    return copied


def changes_in(project: Path) -> str:
    return subprocess.run(
        ["git", "status", "--porcelain"], cwd=project, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize(
    ("script", "code"), [("true", 0), ("exit 7", 7), ("kill -KILL $$", 137), ("kill -TERM $$", 143)]
)
def test_the_exit_code_is_the_commands(script: str, code: int) -> None:
    assert run(script).returncode == code


def test_a_command_that_does_not_exist_ends_as_in_a_shell() -> None:
    done = subprocess.run(
        command_line("no-such-command"),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 127
    assert "no-such-command" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_output_is_the_commands_and_one_line_says_it_is_a_rehearsal() -> None:
    done = run("printf 'a\\0b\\n'; echo err >&2; aws sts get-caller-identity >/dev/null; printf end")
    assert done.stdout == "a\0b\nend"
    ours, *rest = done.stderr.splitlines()
    assert re.match(r"rehearsal: no AWS account is touched; time ×60; logs in \S+", ours)
    assert rest == ["err"]


def test_the_input_reaches_the_command() -> None:
    assert run("cat", stdin="line one\nline two").stdout == "line one\nline two"


def test_the_caller_is_made_up_and_the_stacks_exist(project: Path) -> None:
    done = run("aws sts get-caller-identity && pulumi stack ls --json", cwd=project)
    assert done.returncode == 0, done.stderr
    identity, end = json.JSONDecoder().raw_decode(done.stdout)
    assert identity["Arn"] == "arn:aws:iam::123456789012:user/rehearsal-operator"
    stacks = {stack["name"] for stack in json.loads(done.stdout[end:])}
    assert stacks == {file.name[7:-5] for file in (project / "stacks").glob("Pulumi.*.yaml")}


def test_an_empty_folder_gets_an_account_and_no_stacks(tmp_path: Path) -> None:
    done = run("aws sts get-caller-identity; ls -A", cwd=tmp_path)
    assert done.returncode == 0
    assert '"Account": "123456789012"' in done.stdout
    assert done.stdout.strip().endswith("}"), "the folder is still empty"


def test_ambient_identity_does_not_reach_the_command() -> None:
    done = run(
        "env",
        AWS_PROFILE="production",
        AWS_SESSION_TOKEN="real-token",
        PULUMI_ACCESS_TOKEN="pul-real",
        KUBECONFIG="/real/kubeconfig",
        HTTPS_PROXY="http://proxy.example.com:3128",
    )
    for leak in ("production", "real-token", "pul-real", "/real/kubeconfig", "proxy.example.com"):
        assert leak not in done.stdout


def test_profiles_named_in_stack_files_resolve(tmp_path: Path) -> None:
    project = copy_project(tmp_path)
    (project / "stacks" / "Pulumi.mlcc-corp.yaml").write_text(
        "config:\n  aws:region: us-west-2\n  mlcc:awsProfile: corp-admin\n"
    )
    done = run("aws --profile corp-admin sts get-caller-identity", cwd=project)
    assert "rehearsal-operator" in done.stdout, done.stderr


@pytest.mark.parametrize("where", [".", "mlcc_infra/components"])
def test_configuration_is_remembered_within_a_rehearsal_and_not_in_the_checkout(
    project: Path, where: str
) -> None:
    script = (
        "pulumi config set mlcc:accountId 123456789012 --stack mlcc-demo && "
        "pulumi config set --secret mlcc:secret hush --stack mlcc-demo && "
        f"pulumi -C {shlex.quote(str(project))} config get mlcc:accountId --stack mlcc-demo && "
        "pulumi config get mlcc:secret --stack mlcc-demo && pwd"
    )
    done = run(script, cwd=project / where)
    assert done.stdout.splitlines() == ["123456789012", "hush", str((project / where).resolve())], done.stderr
    assert changes_in(project) == ""


def test_our_own_commands_see_configuration_changed_in_the_rehearsal(project: Path) -> None:
    check = shlex.join([sys.executable, "-m", "mlcc_infra.cli", "profile", "check", "mlcc-demo"])
    done = run(f"pulumi config set aws:region eu-west-1 -s mlcc-demo && {check}", cwd=project)
    assert "eu-west-1" in done.stdout + done.stderr
    assert changes_in(project) == ""


def test_files_are_written_where_the_user_asks_for_them(project: Path, tmp_path: Path) -> None:
    script = f"cd docs && pulumi stack export -s mlcc-demo --file {tmp_path}/there.json"
    done = run(f"{script} && pulumi stack export -s mlcc-demo --file here.json", cwd=project)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there.json").exists()
    (project / "docs" / "here.json").unlink()


def test_the_automation_api_works_on_the_project_and_elsewhere(project: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import pulumi, sys\n"
        "from pulumi import automation\n"
        "local = automation.select_stack('mlcc-demo', work_dir=sys.argv[1])\n"
        "local.set_config('mlcc:accountId', automation.ConfigValue('123456789012'))\n"
        "print(local.get_config('mlcc:accountId').value)\n"
        "inline = automation.create_stack('dev', 'inline', program=lambda: pulumi.export('answer', 42))\n"
        "print(inline.up().outputs['answer'].value)\n"
        "inline.destroy()\n"
    )
    done = run(f"{sys.executable} {program} .", cwd=project)
    assert done.stdout.splitlines() == ["123456789012", "42"], done.stderr
    assert changes_in(project) == ""


def test_a_home_with_real_looking_files_is_byte_identical_afterwards(project: Path, tmp_path: Path) -> None:
    files = {
        ".aws/config": "[profile real]\nregion = eu-west-1\n",
        ".aws/credentials": "[real]\naws_access_key_id = AKIAREAL\naws_secret_access_key = very-real\n",
        ".kube/config": "apiVersion: v1\nkind: Config\n",
        ".pulumi/credentials.json": '{"current": "https://api.pulumi.com"}',
        ".ml-container-creator/config.json": '{"profile": "real"}',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    before = {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))}
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    done = run(
        "aws configure set region us-east-1; echo changed > ~/.kube/config; pulumi stack ls; pulumi whoami; "
        "aws sts get-caller-identity; cat ~/.aws/credentials",
        cwd=project,
        HOME=str(tmp_path),
        XDG_CACHE_HOME=cache,
    )
    assert done.returncode == 0, done.stderr
    assert "very-real" not in done.stdout
    assert {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))} == before
    assert {name: (tmp_path / name).read_text() for name in files} == files
    assert changes_in(project) == ""


def test_the_api_log_is_written_where_the_user_stands(tmp_path: Path) -> None:
    done = run(
        "cd / && aws iam create-user --user-name x", cwd=tmp_path, options=("--api-log", "calls.jsonl")
    )
    assert done.returncode == 0, done.stderr
    calls = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    assert [(call["service"], call["operation"], call["mutating"]) for call in calls] == [
        ("iam", "CreateUser", True)
    ]


def test_faults_of_a_file_reach_the_account(tmp_path: Path) -> None:
    fault = {
        "service": "iam",
        "operation": "CreateUser",
        "code": "LimitExceeded",
        "message": "no more",
        "status": 409,
    }
    (tmp_path / "faults.json").write_text(json.dumps([fault]))
    done = run("aws iam create-user --user-name x", cwd=tmp_path, options=("--faults", "faults.json"))
    assert done.returncode != 0
    assert "LimitExceeded" in done.stderr


@pytest.mark.parametrize("text", ["- effect: explosion\n", "[unclosed"])
def test_a_wrong_file_of_faults_is_one_clear_block(tmp_path: Path, text: str) -> None:
    (tmp_path / "faults.yaml").write_text(text)
    done = run("echo ran", cwd=tmp_path, options=("--faults", "faults.yaml"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_missing_faults_are_a_usage_error(tmp_path: Path) -> None:
    done = run("echo ran", cwd=tmp_path, options=("--faults", "missing.yaml"))
    assert (done.returncode, done.stdout) == (2, "")


def test_what_is_kept_is_named_and_there(project: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    done = run("pulumi stack ls", cwd=project, options=("--keep", str(kept)))
    assert done.returncode == 0, done.stderr
    assert f"logs in {kept}/logs (kept)" in done.stderr
    assert f"kept: the state in {kept}/backend" in done.stderr
    assert list(kept.glob("backend/.pulumi/stacks/mlcc/mlcc-demo.json"))
    assert (kept / "logs" / "api.jsonl").exists()
    again = run("pulumi stack ls", cwd=project, options=("--keep", str(kept)))
    assert again.returncode == 0
    assert "was replaced" in again.stderr


def test_a_folder_with_other_files_is_not_kept_in(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = run("echo ran", options=("--keep", str(tmp_path)))
    assert (done.returncode, done.stdout) == (1, "")
    assert "mine.txt" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_nothing_is_left_in_the_temporary_folder(tmp_path: Path) -> None:
    done = run("true", TMPDIR=str(tmp_path))
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_rehearsal_runs_within_a_rehearsal() -> None:
    inner = shlex.join(
        command_line("bash", "-c", "aws iam create-user --user-name inner >/dev/null; pulumi version")
    )
    done = run(f"{inner} && aws iam list-users --query 'Users[].UserName' --output text")
    assert done.returncode == 0, done.stderr
    version, users = done.stdout.splitlines()
    assert version.startswith("v3.")
    assert "inner" not in users.split()


def test_four_rehearsals_at_once_do_not_see_each_other(project: Path) -> None:
    script = (
        "aws iam create-user --user-name user-$N >/dev/null && "
        "pulumi config set mlcc:accountId 00000000000$N -s mlcc-demo && sleep 1 && "
        "pulumi config get mlcc:accountId -s mlcc-demo && "
        "aws iam list-users --query 'Users[].UserName' --output text"
    )
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda number: run(script, cwd=project, N=str(number)), range(4)))
    for number, done in enumerate(runs):
        assert done.returncode == 0, done.stderr
        account, users = done.stdout.splitlines()
        assert account == f"00000000000{number}"
        assert [user for user in users.split() if user.startswith("user-")] == [f"user-{number}"]
    assert changes_in(project) == ""


def test_commands_at_once_in_one_rehearsal_do_not_disturb_each_other(project: Path) -> None:
    script = "for n in 1 2 3 4; do pulumi config get aws:region -s mlcc-demo & done; wait"
    assert run(script, cwd=project).stdout.split() == ["us-west-2"] * 4


# Signals


@contextmanager
def long_command(project: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A rehearsal whose command started others, one of them in a session of its own without environment."""
    script = (
        f"sleep {SLEEP} & setsid sleep {SLEEP} & env -i setsid sleep {SLEEP} & "
        'setsid bash -c "trap : TERM INT HUP; while :; do sleep 1; done" & echo $MLCC_REHEARSAL_RUNS; wait'
    )
    # Tests under nohup would hand down that SIGHUP is ignored.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        process = subprocess.Popen(
            command_line("bash", "-c", script),
            cwd=project,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    finally:
        signal.signal(signal.SIGHUP, before)
    assert process.stdout is not None
    folder = process.stdout.readline().strip()
    try:
        assert folder, process.stderr and process.stderr.read()
        yield process, folder
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()
        wait_for_none(folder)


def sleepers() -> set[str]:
    """The pids of those that this test process had started."""
    found = set()
    for process in Path("/proc").iterdir():
        try:
            if (process / "cmdline").read_bytes() == f"sleep\0{SLEEP}\0".encode():
                found.add(process.name)
        except OSError:
            continue
    return found


@pytest.mark.skipif(not LINUX, reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_command_and_leaves_no_process(project: Path, number: signal.Signals) -> None:
    before = sleepers()
    with long_command(project) as (process, folder):
        while len(sleepers() - before) < 3:
            time.sleep(0.1)
        started = time.monotonic()
        process.send_signal(number)
        code = process.wait(LIMIT)
        assert time.monotonic() - started < 30
        assert code == 128 + number
        assert wait_for_none(folder, 1) == []
        assert sleepers() - before == set(), "one without environment is found by descent"
        assert not Path(folder).exists()


@pytest.mark.skipif(not LINUX, reason="processes are looked up in /proc")
def test_a_killed_supervisor_leaves_no_process_either(project: Path) -> None:
    with long_command(project) as (process, folder):
        process.kill()
        process.wait(LIMIT)
        assert wait_for_none(folder) == []
        deadline = time.monotonic() + 10
        while Path(folder).exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not Path(folder).exists()


@pytest.mark.skipif(not LINUX, reason="processes are looked up in /proc")
def test_what_a_finished_command_left_running_is_ended(project: Path) -> None:
    before = sleepers()
    done = run(f"setsid sleep {SLEEP} >/dev/null 2>&1 & echo started", cwd=project)
    assert (done.returncode, done.stdout) == (0, "started\n")
    assert sleepers() - before == set()


def test_a_signal_while_it_starts_ends_the_rehearsal(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command_line("bash", "-c", "echo ran"),
        cwd=ROOT,
        env=environment(TMPDIR=str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + LIMIT
    while not list(tmp_path.glob("mlcc-rehearsal-*/bin")) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.2)
    process.terminate()
    output, errors = process.communicate(timeout=LIMIT)
    assert process.returncode in (0, 143), errors
    assert output == ("ran\n" if process.returncode == 0 else "")
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not LINUX, reason="processes are looked up in /proc")
def test_a_crashed_plugin_is_reported_and_serves_again_on_its_port(project: Path, tmp_path: Path) -> None:
    program = tmp_path / "crash.py"
    program.write_text(
        "import os, pathlib, signal, socket, time\n"
        "port = int(dict(p.split(':') for p in os.environ['PULUMI_DEBUG_PROVIDERS'].split(','))['eks'])\n"
        "run = os.environ['MLCC_REHEARSAL_RUNS'].split(':')[0].encode()\n"
        "for p in pathlib.Path('/proc').iterdir():\n"
        "    try: words, env = (p/'cmdline').read_bytes().split(b'\\0'), (p/'environ').read_bytes()\n"
        "    except OSError: continue\n"
        "    if run in env and b'eks' in words and b'mlcc_rehearsal.runner.plugin_launcher' in words:\n"
        "        os.kill(int(p.name), signal.SIGKILL)\n"
        "time.sleep(1)\n"
        "for _ in range(100):\n"
        "    try: socket.create_connection(('127.0.0.1', port), 1).close(); print('serves'); break\n"
        "    except OSError: time.sleep(0.2)\n"
    )
    done = run(f"{sys.executable} {program}", cwd=project)
    assert done.stdout == "serves\n", done.stderr
    assert "stand-in plugins eks ended (signal 9)" in done.stderr


# A terminal


def in_terminal(words: list[str], keys: bytes = b"", after: bytes = b"ready") -> tuple[int, str]:
    """Run in a terminal of its own; type `keys` once `after` was shown. Answers exit code and screen."""
    pid, screen = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execve(words[0], words, environment())
    shown, typed, deadline = b"", False, time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        if select.select([screen], [], [], 0.2)[0]:
            try:
                chunk = os.read(screen, 4096)
            except OSError:  # the other end was closed
                break
            if not chunk:
                break
            shown += chunk
        if keys and not typed and after in shown:
            typed = True
            os.write(screen, keys)
    _, status = os.waitpid(pid, 0)
    os.close(screen)
    code = os.waitstatus_to_exitcode(status)
    return code, shown.decode().replace("\r\n", "\n")


def test_a_terminal_stays_a_terminal() -> None:
    code, screen = in_terminal(
        command_line("bash", "-c", "test -t 0 -a -t 1 -a -t 2 && stty size && echo yes")
    )
    assert code == 0, screen
    assert screen.endswith("yes\n")


def test_the_command_reads_from_the_terminal() -> None:
    words = command_line("bash", "-c", "echo ready; read -r line; echo got $line")
    code, screen = in_terminal(words, b"typed\n")
    assert (code, screen.splitlines()[-1]) == (0, "got typed")


def test_an_interrupt_key_ends_the_command_once() -> None:
    script = "trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.1; done"
    code, screen = in_terminal(command_line("bash", "-c", script), b"\x03")
    assert code == 5, screen
    assert screen.count("interrupted") == 1


# The network


def test_what_asks_the_proxy_is_refused_and_reported() -> None:
    program = "import urllib.request; urllib.request.urlopen('https://sts.amazonaws.com', timeout=5)"
    done = run(f"{sys.executable} -c {shlex.quote(program)}")
    assert done.returncode == 1
    assert "403" in done.stderr
    assert "1 connection outside the loopback refused: sts.amazonaws.com:443" in done.stderr


# In the namespace every address is this machine's, so that whatever is sent passes the loopback device, where
# a raw socket sees it. Attempts are seen with their address, even those that nothing would have answered.
# When the last packet is seen, so are all before it.
LAST = "198.51.100.254"
NAMESPACE = """
set -e
ip link set lo up
ip route add local default dev lo
ip -6 route add local default dev lo 2>/dev/null || true
"$PYTHON" -IS -c "$WATCH" "$SEEN" &
watch=$!
while ! test -e "$SEEN"; do sleep 0.05; done
"$@"
"$PYTHON" -IS -c "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'last', ('$LAST', 9))"
until grep -q "^$LAST " "$SEEN"; do sleep 0.05; done
kill $watch
wait $watch || true
"""
WATCH = """
import ipaddress, re, socket, sys
listening = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
listening.bind(("lo", 0))
with open(sys.argv[1], "w", buffering=1) as seen:
    while True:
        packet = listening.recv(65535)
        kind, body = packet[12:14], packet[14:]
        target = {b"\\x08\\x00": body[16:20], b"\\x86\\xdd": body[24:40]}.get(kind)
        if target and not ipaddress.ip_address(target).is_loopback:
            # What a name server is asked for is readable in the packet.
            words = re.findall(rb"[a-z0-9-]{3,}", packet[42:])
            print(ipaddress.ip_address(target), b".".join(words).decode()[:60], file=seen)
"""


def in_namespace(words: list[str], cwd: Path, seen: Path) -> tuple[str, set[str]]:
    """Run in a network namespace. Answers the output, and the addresses that were not the loopback's."""
    for tool in ("unshare", "ip"):
        assert shutil.which(tool), f"{tool} (util-linux, iproute2) is needed to see what leaves the loopback"
    done = subprocess.run(
        ["unshare", "--map-root-user", "--net", "bash", "-c", NAMESPACE, "bash", *words],
        cwd=cwd,
        env=environment(PYTHON=sys.executable, WATCH=WATCH, SEEN=str(seen), LAST=LAST),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, {line for line in seen.read_text().splitlines() if not line.startswith(LAST)}


@pytest.mark.skipif(not LINUX, reason="network namespaces are Linux's")
def test_a_connection_outside_would_be_seen(tmp_path: Path) -> None:
    program = (
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('198.51.100.1', 53))"
    )
    _, addresses = in_namespace([sys.executable, "-c", program], tmp_path, tmp_path / "seen")
    assert [line.split()[0] for line in addresses] == ["198.51.100.1"]


@pytest.mark.skipif(not LINUX, reason="network namespaces are Linux's")
def test_nothing_of_a_rehearsal_leaves_the_loopback(project: Path, tmp_path: Path) -> None:
    script = (
        "aws sts get-caller-identity && aws s3 mb s3://a-bucket && pulumi stack ls && "
        "pulumi up -s mlcc-demo --yes --skip-preview && echo finished"
    )
    words = command_line("bash", "-c", script, options=("--speed", "200"))
    output, addresses = in_namespace(words, project, tmp_path / "seen")
    assert "finished" in output
    assert addresses == set()
