"""What the checks in this folder share: programs under test, and a small HTTP/1.1 client that keeps many requests going.

Standard library only. Everything is sent to loopback, in bounded number and time.
"""

import asyncio
import json
import os
import pathlib
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent


def build(*more):
    """Builds both programs, and more, for release, and says where they are."""
    scratch = ["--scratch-path", os.environ.get("GRYT_BUILD_DIR", ROOT / ".build")]
    for product in ("gryt-push", "push-simulator", *more):
        subprocess.run(["swift", "build", "-c", "release", *scratch, "--product", product], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
    shown = subprocess.run(["swift", "build", "-c", "release", *scratch, "--show-bin-path"], cwd=ROOT, check=True,
                           capture_output=True, text=True)
    return pathlib.Path(shown.stdout.strip())


PORTS_GIVEN = set()


def free_port():
    """One that this program was not given before: the kernel may choose a port again as soon as it is closed."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        if port not in PORTS_GIVEN:
            PORTS_GIVEN.add(port)
            return port


class Simulator:
    """push-simulator on ports of the kernel's choice."""

    def __init__(self, binaries, folder, *arguments):
        self.folder = pathlib.Path(folder)
        ports = [f"--{name}-port=0".split("=") for name in ("apns", "apns-sandbox", "fcm", "oauth")]
        self.control = free_port()
        self.process = subprocess.Popen(
            [binaries / "push-simulator", "--directory", self.folder, "--quiet", *sum(ports, []),
             "--control-port", str(self.control), *arguments],
            stdout=subprocess.DEVNULL)
        self.settings = {}
        deadline = time.monotonic() + 20
        settings = self.folder / "relay.env"
        while not self.settings:
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit("the simulator did not start")
            if settings.exists():
                lines = settings.read_text().splitlines()
                self.settings = dict(line.split("=", 1) for line in lines if "=" in line and line[0] != "#")
            time.sleep(0.02)

    def books(self):
        """The simulator's own count of everything. curl, because the control port speaks HTTP/2 only."""
        answer = subprocess.run(
            ["curl", "-sS", "--http2", "--cacert", self.settings["UPSTREAM_CA_FILE"],
             f"https://localhost:{self.control}/simulator/books"], check=True, capture_output=True, text=True)
        return json.loads(answer.stdout)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


class Relay:
    """gryt-push on a free port, with no limits unless a check sets some; on one core, if one is given."""

    def __init__(self, binaries, data, log, settings, core=None, **more):
        self.port = free_port()
        environment = {
            "PATH": os.environ["PATH"], "HOST": "127.0.0.1", "PORT": str(self.port), "DATA_DIR": str(data),
            "LIMIT_PUSHES_PER_MINUTE_PER_IP": "0", "LIMIT_PUSHES_PER_MINUTE_PER_DEVICE": "0",
            "LIMIT_REGISTRATIONS_PER_HOUR_PER_IP": "0", **settings, **more}
        began = time.monotonic()
        pin = [] if core is None else ["taskset", "-c", str(core)]
        self.process = subprocess.Popen([*pin, binaries / "gryt-push"], env=environment, cwd=log.parent,
                                        stdout=open(log, "ab"), stderr=subprocess.STDOUT)
        while True:
            if self.process.poll() is not None or time.monotonic() > began + 60:
                sys.exit(f"the relay did not start, see {log}:\n{log.read_text()[-2000:]}")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5).read()
                break
            except OSError:
                time.sleep(0.002)
        self.start_seconds = time.monotonic() - began

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.terminate()
        return self.process.wait(30)

    def memory(self):
        """Resident memory in kB."""
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmRSS"):
                return int(line.split()[1])
        return 0

    def upstream_connections(self):
        """Established connections to the simulator's or anybody's TLS ports, as the kernel sees them."""
        own = {os.readlink(f"/proc/{self.process.pid}/fd/{fd}")[8:-1]
               for fd in os.listdir(f"/proc/{self.process.pid}/fd")
               if os.path.lexists(f"/proc/{self.process.pid}/fd/{fd}")
               and os.readlink(f"/proc/{self.process.pid}/fd/{fd}").startswith("socket:")}
        count = 0
        for table in ("tcp", "tcp6"):
            for line in open(f"/proc/net/{table}").readlines()[1:]:
                field = line.split()
                local = int(field[1].rsplit(":", 1)[1], 16)
                if field[3] == "01" and field[9] in own and local != self.port:
                    count += 1
        return count


def request(method, path, body=None, capability=None, sender=None):
    """The bytes of one request; `sender` is whom a proxy says that it comes from."""
    head = f"{method} {path} HTTP/1.1\r\nHost: relay\r\n"
    if sender:
        head += f"X-Forwarded-For: {sender}\r\n"
    if capability:
        head += f"Authorization: Bearer {capability}\r\n"
    body = json.dumps(body, separators=(",", ":")) if body is not None else ""
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


async def answer(reader):
    """Reads one answer: status and body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    length = 0
    for line in head.split("\r\n"):
        if line.lower().startswith("content-length:"):
            length = int(line.split(":")[1])
    return int(head.split(" ", 2)[1]), await reader.readexactly(length) if length else b""


async def many(port, requests, answered, connections=64, depth=1):
    """Sends what the iterator `requests` yields, (key, bytes) each, `depth` at a time on each connection, and calls
    `answered(key, status, body)` for each. A connection that breaks ends its share; what had no answer is not reported."""
    async def one():
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return
        try:
            while True:
                batch = []
                for item in requests:
                    batch.append(item)
                    if len(batch) == depth:
                        break
                if not batch:
                    return
                writer.write(b"".join(item[1] for item in batch))
                for key, _ in batch:
                    status, body = await answer(reader)
                    answered(key, status, body)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
    await asyncio.gather(*(one() for _ in range(connections)))


def ios_token():
    return secrets.token_hex(32)


def handed_out(*more):
    """The relay as it is handed out by itself, every library inside (scripts/release/static-program): what is measured is
    what is run. Beside it the simulator, and more, and where they are."""
    built = build(*more)
    folder = pathlib.Path(f'{os.environ.get("GRYT_BUILD_DIR", ROOT / ".build")}-handed-out')
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run([ROOT / "scripts/release/static-program", "0.0.0", folder], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"scripts/release/static-program ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")
    [archive] = folder.glob("*.tar.gz")
    subprocess.run(["tar", "-xzf", archive, "-C", folder, "--strip-components=1"], check=True)
    for program in ("push-simulator", *more):
        (folder / program).symlink_to(built / program)
    return folder


class Folder:
    """A temporary folder that goes away."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="gryt-bench-"))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)
