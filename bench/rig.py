"""What the measurements in this folder share: a cheap upstream, the relay and a plain proxy before it, load, CPU time.

Two cores: what is measured is pinned to core 0, everything that serves the measuring to core 1. All of it is loopback.
Needs what `scripts/setup bench` installs, and a C compiler.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request

import harness

HERE = pathlib.Path(__file__).resolve().parent
CREDENTIALS = {"APNS_KEY_ID": "BENCH00001", "APNS_TEAM_ID": "BENCH00001"}
# Limits that nothing here reaches: asking them is a part of what a push costs. The load plays a proxy before many senders.
LIMITS = {"LIMIT_PUSHES_PER_MINUTE_PER_IP": "1000000", "LIMIT_PUSHES_PER_MINUTE_PER_DEVICE": "1000000",
          "LIMIT_REGISTRATIONS_PER_HOUR_PER_IP": "1000000", "TRUST_PROXY": "true", "TRUSTED_PROXIES": "127.0.0.1",
          "CLIENT_ADDRESS_HEADERS": "x-forwarded-for"}
SENDERS = [f"198.51.100.{number}" for number in range(256)]
PROJECT = "bench"
# Where Debian has haproxy, and not everybody looks.
os.environ["PATH"] += ":/usr/sbin"
# HAProxy wants two descriptors for each, and some more.
MAXCONN = min(30_000, (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 200) // 2)


def pinned(core):
    return [] if core is None else ["taskset", "-c", str(core)]


def run(*command, **options):
    """Runs a command to its end, which must be a good one."""
    done = subprocess.run([str(word) for word in command], capture_output=True, **options)
    if done.returncode != 0:
        sys.exit(f"{command[0]} ended with {done.returncode}: {done.stderr.decode()[-2000:]}")
    return done


def cpu_seconds(pid):
    """CPU time of a process so far, to the nanosecond (a tick of /proc/PID/stat is 10 ms). Threads that have ended are
    not in it; relay and HAProxy end none while they run."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        total += int(pathlib.Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0])
    return total / 1e9


def memory(pid):
    """Kilobytes in RAM, those of files (the mapped database, the program) and the others."""
    found = {}
    for line in open(f"/proc/{pid}/status"):
        if line.startswith(("RssAnon", "RssFile", "VmRSS")):
            found[line.split(":")[0]] = int(line.split()[1])
    return found


DOZE = """
import ctypes, sys, time
ctypes.CDLL(None).prctl(29, 1)  # PR_SET_TIMERSLACK: the kernel would otherwise be up to 50 us late
end, late = time.monotonic() + int(sys.argv[1]), []
while time.monotonic() < end:
    began = time.monotonic_ns()
    time.sleep(0.0002)
    late.append(time.monotonic_ns() - began - 200_000)
late.sort()
print(*(late[int(share * len(late))] / 1000 for share in (0.5, 0.99, 0.999)))
"""


def wakefulness(core=0, seconds=3):
    """How long a core that sleeps takes to wake. A virtual one has been taken away from its machine by then, and to get it back
    takes the host some time; whatever is woken up on it by a packet is late by that."""
    median, high, higher = run(*pinned(core), sys.executable, "-c", DOZE, seconds).stdout.decode().split()
    return (f"a program that sleeps for 0.2 ms on an idle core wakes up {float(median):.0f} us late in the middle, "
            f"{float(high):.0f} us at p99, {float(higher):.0f} us at p999")


def wait_for(port, what, seconds=20):
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                sys.exit(f"{what} did not start")
            time.sleep(0.01)


class Rig:
    """Folder, certificate, keys, the compiled load; and everything that was started, which ends with it."""

    def __init__(self, *tools):
        missing = [tool for tool in ("cc", "openssl", *tools) if not shutil.which(tool)]
        if missing:
            sys.exit(f"{', '.join(missing)} missing; scripts/setup bench installs what is needed")
        self.temporary = harness.Folder()

    def __enter__(self):
        # So that what was started ends too when somebody ends this.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self.folder = self.temporary.__enter__()
        self.processes = []
        key, certificate = self.folder / "tls.key", self.folder / "tls.pem"
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 2,
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate)
        (self.folder / "both.pem").write_text(key.read_text() + certificate.read_text())
        run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
            self.folder / "apns.p8")
        run("openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out",
            self.folder / "account.pem")
        run("cc", "-O2", "-o", self.folder / "load", HERE / "load.c")
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
        self.temporary.__exit__()

    def haproxy(self, name, configuration, core):
        file = self.folder / f"{name}.cfg"
        file.write_text(configuration)
        log = open(self.folder / f"{name}.log", "wb")
        process = subprocess.Popen([*pinned(core), "haproxy", "-db", "-f", str(file)], stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def upstream(self, delay_ms=0, core=1, streams=1000):
        """HAProxy that plays Apple, Google and Google's token endpoint: it answers each push, once all of it is there,
        after a while. Cheap, so that it is not what is measured. Its second port speaks HTTP/1.1 in clear and answers
        alike. `streams`: how many it allows on one connection; Apple 1000, Google 100."""
        self.upstream_port, self.direct_port = harness.free_port(), harness.free_port()
        self.books = self.folder / "upstream.sock"
        delay = f"tcp-request inspect-delay {delay_ms}ms\n    tcp-request content accept if WAIT_END" if delay_ms else ""
        token = '{\\"access_token\\":\\"ya29.bench\\",\\"expires_in\\":3599,\\"token_type\\":\\"Bearer\\"}'
        answers = f"""
    {delay}
    http-request return status 200 content-type application/json string "{token}" if {{ path /token }}
    http-request return status 200 content-type application/json string "{{\\"name\\":\\"projects/{PROJECT}/messages/1\\"}}" if {{ path_beg /v1/ }}
    http-request return status 200"""
        process = self.haproxy("upstream", f"""
global
    nbthread 1
    maxconn {MAXCONN}
    stats socket {self.books} mode 600 level admin
    tune.h2.max-concurrent-streams {streams}
defaults
    mode http
    timeout client 60s
    option http-buffer-request
frontend push
    bind 127.0.0.1:{self.upstream_port} ssl crt {self.folder}/both.pem alpn h2{answers}
frontend direct
    bind 127.0.0.1:{self.direct_port}{answers}
""", core)
        wait_for(self.direct_port, "the upstream")
        self.settings = {
            **CREDENTIALS, "APNS_KEY_PATH": str(self.folder / "apns.p8"), "FCM_SERVICE_ACCOUNT": json.dumps({
                "type": "service_account", "project_id": PROJECT, "private_key_id": "1",
                "private_key": (self.folder / "account.pem").read_text(),
                "client_email": f"bench@{PROJECT}.iam.gserviceaccount.com",
                "token_uri": f"https://localhost:{self.upstream_port}/token"}),
            "APNS_PRODUCTION_ORIGIN": f"https://localhost:{self.upstream_port}",
            "FCM_ORIGIN": f"https://localhost:{self.upstream_port}", "UPSTREAM_CA_FILE": str(self.folder / "tls.pem"),
            "LOG_LEVEL": "warning", "MAX_CONNECTIONS": "30000", "MAX_CONNECTIONS_PER_ADDRESS": "0"}
        return process

    def asked(self):
        """How many requests the upstream has had over HTTP/2."""
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect(str(self.books))
            channel.sendall(b"show stat\n")
            text = b"".join(iter(lambda: channel.recv(65536), b"")).decode()
        rows = [line.split(",") for line in text.lstrip("# ").splitlines() if line]
        return next(int(dict(zip(rows[0], row))["req_tot"]) for row in rows[1:] if row[:2] == ["push", "FRONTEND"])

    def settled(self):
        """The same, once nothing more comes: wrk hangs up on what is under way when its time is over, and the relay
        brings that to its end."""
        before = -1
        while (count := self.asked()) != before:
            before = count
            time.sleep(1)
        return count

    def wire_bytes(self):
        """Bytes that went to the upstream's TLS port and came from there, over the connections that are open now; what TCP
        and IP add is not in it."""
        text = run("ss", "-tinH", f"dport = :{self.upstream_port}").stdout.decode()
        return [sum(map(int, re.findall(rf"\b{word}:(\d+)", text))) for word in ("bytes_sent", "bytes_received")]

    def proxy(self, core=0):
        """HAProxy that copies requests from HTTP/1.1 to HTTP/2 over TLS and does nothing else."""
        self.proxy_port = harness.free_port()
        process = self.haproxy("proxy", f"""
global
    nbthread 1
    maxconn {MAXCONN}
    tune.h2.max-concurrent-streams 1000
defaults
    mode http
    timeout connect 30s
    timeout client 60s
    timeout server 60s
    http-reuse always
frontend in
    bind 127.0.0.1:{self.proxy_port}
    default_backend out
backend out
    server up localhost:{self.upstream_port} ssl ca-file {self.folder}/tls.pem alpn h2 sni str(localhost) verifyhost localhost
""", core)
        wait_for(self.proxy_port, "the proxy")
        return process

    def relay(self, binaries, data="data", core=0, workers=1, **more):
        """The relay, with LIMITS."""
        relay = harness.Relay(
            binaries, self.folder / data, self.folder / "relay.log",
            {**self.settings, **LIMITS, "WORKERS": str(workers), **more}, core=core)
        self.processes.append(relay.process)
        return relay

    def requests(self, name, requests):
        """A file of requests as load.c takes them."""
        file = self.folder / name
        with open(file, "wb") as out:
            for request in requests:
                out.write(struct.pack("<I", len(request)) + request)
        return file

    def load(self, port, requests, connections, seconds=None, count=None, rate=None, bodies=None, core=1):
        """Runs load.c; its figures."""
        command = [*pinned(core), self.folder / "load", port, requests, "-c", connections]
        for option, value in (("-d", seconds), ("-n", count), ("-r", rate), ("-b", bodies)):
            if value is not None:
                command += [option, value]
        return json.loads(run(*command).stdout)

    def register(self, relay, count, platform="ios", connections=256):
        """Registers so many phones; their capabilities."""
        file = self.registrations(count, platform)
        bodies = self.folder / "bodies"
        figures = self.load(relay.port, file, connections, count=count, bodies=bodies, core=None)
        if figures["answers"] != {"201": count}:
            sys.exit(f"not every phone could be registered: {figures}")
        return [line.split('"')[3] for line in bodies.read_text().splitlines()]

    def pushes(self, capabilities, name="pushes", body=None, path="/v1/push"):
        """A file of a push to each, from one sender after the other."""
        return self.requests(name, (
            harness.request("POST", path, body or {"kind": "message"}, capability, SENDERS[number % len(SENDERS)])
            for number, capability in enumerate(capabilities)))

    def registrations(self, count, platform="ios"):
        """A file of so many registrations."""
        return self.requests("registrations", (
            harness.request("POST", "/v1/devices", {"platform": platform, "token": device_token(platform)}, None,
                            SENDERS[number % len(SENDERS)])
            for number in range(count)))


def device_token(platform):
    token = harness.ios_token()
    return token if platform == "ios" else f"e{token[:21]}:APA91b{token}{harness.ios_token()}"


def all_are(status, figures):
    """Ends the program unless every request was answered so."""
    if figures["unanswered"] or set(figures["answers"]) != {str(status)}:
        sys.exit(f"not every answer was {status}: {figures}")


def metrics(port):
    """The operator's metrics: name with labels → value."""
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line[:1] != "#"}


def machine():
    """What it ran on, in a line."""
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{os.cpu_count()} cores of {model}, {gigabytes:.0f} GB"
