#!/usr/bin/env python3
"""A phone and its chat server, as far as the Gryt push relay is concerned.

  gryt_push.py register ios|android TOKEN               the phone: prints its capability
  gryt_push.py ring CAPABILITY KEY KIND TITLE BODY      the server: prints what became of the push
  gryt_push.py remove CAPABILITY                        the phone takes the capability back
  gryt_push.py vectors docs/vectors/preview.json        checks the sealing below against the vectors

The relay is $RELAY, such as https://push.gryt.chat. KEY is base64url of the 32 bytes that phone and server share.
$PATIENCE is for how many seconds a push is worth being repeated (60).

Python's standard library, and `cryptography` (Debian: python3-cryptography).
"""

import base64
import hashlib
import http.client
import json
import os
import re
import socket
import sys
import time
import urllib.parse

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

# ---- Sealing: 0x01 | nonce (12) | ciphertext | tag (16), as base64url without padding


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def base64url_bytes(text):
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise ValueError("not_base64url") from None
    if base64url(data) != text:  # Python passes over what it does not know
        raise ValueError("not_base64url")
    return data


def tag_of(capability):
    """How the phone knows which of its servers rang."""
    return hashlib.sha256(capability.encode()).hexdigest()[:16]


def seal(preview, key, tag, nonce=None):
    """`preview` is {"t": title, "s": subtitle if there is one, "b": body}."""
    nonce = nonce or os.urandom(12)  # never twice under one key
    text = json.dumps(preview, ensure_ascii=False, separators=(",", ":")).encode()
    sealed = base64url(b"\x01" + nonce + AESGCM(key).encrypt(nonce, text, b"gryt-push-1|" + tag.encode()))
    if len(sealed) > 2048:
        raise ValueError(f"the preview is {len(text) - 1507} bytes too long")
    return sealed


def open_sealed(sealed, key, tag):
    """What the app does. It raises ValueError, and then the fixed text stays on the screen."""
    if not 40 <= len(sealed) <= 2048:
        raise ValueError("wrong_length")
    data = base64url_bytes(sealed)
    if data[0] != 1:
        raise ValueError("unknown_version")
    try:
        text = AESGCM(key).decrypt(data[1:13], data[13:], b"gryt-push-1|" + tag.encode())
    except InvalidTag:
        raise ValueError("not_genuine") from None
    try:
        preview = json.loads(text)
        opened = {name: preview[name] for name in "tsb" if name != "s" or preview.get("s") is not None}
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ValueError("not_a_preview") from None
    if not all(isinstance(value, str) for value in opened.values()):
        raise ValueError("not_a_preview")
    return opened


# ---- Asking the relay


class Relay:
    """One connection that is kept, as a server should keep some."""

    def __init__(self, address):
        self.address = urllib.parse.urlsplit(address)
        self.connection = None

    def ask(self, method, path, capability=None, body=None):
        """Status and body of the answer. OSError or HTTPException where there is none."""
        headers = {"Authorization": f"Bearer {capability}"} if capability else {}
        body = None if body is None else json.dumps(body)
        for is_kept in (self.connection is not None, False):
            if self.connection is None:
                secure = self.address.scheme == "https"
                of_kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
                # The relay answers a push within 4.5 seconds.
                self.connection = of_kind(self.address.netloc, timeout=5)
            try:
                self.connection.request(method, self.address.path.rstrip("/") + path, body, headers)
                answer = self.connection.getresponse()
                break
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                # A kept connection may have been closed while it was idle; the request has not been looked at then.
                self.close()
                if not is_kept:
                    raise
            except Exception:
                self.close()
                raise
        try:
            text = answer.read()
        except Exception:
            self.close()
            raise
        try:
            members = json.loads(text) if text else {}
        except ValueError:
            members = {}  # not the relay's: a page of a proxy, most likely
        return answer.status, members

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


def what_to_do(status, answer):
    """What an answer to a push asks of the server. The code counts, not the status alone: a proxy's 404 has none."""
    code = answer.get("error")
    if status == 202:
        return "sent", None
    if code in ("unknown_capability", "gone"):
        return "forget", None
    if "retry_after" in answer:
        return "later", answer["retry_after"]
    if code in ("upstream_failed", "internal"):
        return "drop", None
    return "alert", None  # a fault of this program, or something that the relay's operator has to mend


def ring(relay, capability, push, patience):
    """Pushes, and again where the relay asks for it and the push is still worth it. What became of it, in words."""
    deadline = time.monotonic() + patience
    for attempt in range(4):
        try:
            status, answer = relay.ask("POST", "/v1/push", capability, push)
        except (ConnectionRefusedError, socket.gaierror):
            status, answer = None, {"error": "no connection", "retry_after": 2**attempt}
        except (OSError, http.client.HTTPException):
            # Whatever went wrong after it left, it may have been sent, and ringing twice is worse than not at all.
            return "drop: no answer, it may have been sent"
        deed, seconds = what_to_do(status, answer)
        if deed != "later":
            return f"{deed}: {answer['error']}" if "error" in answer else deed
        if attempt == 3 or time.monotonic() + seconds > deadline:
            return f"drop: {answer['error']}, again in {seconds} s"
        time.sleep(seconds)


def check_vectors(path):
    with open(path, encoding="utf-8") as file:
        vectors = json.load(file)
    for vector in vectors["tag"]:
        assert tag_of(vector["capability"]) == vector["tag"], vector
    for vector in vectors["seal"]:
        key, tag = base64url_bytes(vector["key"]), tag_of(vector["capability"])
        assert seal(vector["preview"], key, tag, bytes.fromhex(vector["nonce"])) == vector["sealed"], vector
        assert open_sealed(vector["sealed"], key, tag) == vector["preview"], vector
    for vector in vectors["open"]:
        opened = open_sealed(vector["sealed"], base64url_bytes(vector["key"]), vector["tag"])
        assert opened == vector["preview"], vector
    for vector in vectors["refuse"]:
        try:
            open_sealed(vector["sealed"], base64url_bytes(vector["key"]), vector["tag"])
        except ValueError as error:
            assert str(error) == vector["error"], (vector, error)
        else:
            raise AssertionError(vector)
    for vector in vectors["shape"]:
        text = "".join(piece * count for piece, count in vector["text"])
        assert bool(re.fullmatch("[A-Za-z0-9_-]{40,2048}", text)) == vector["taken"], vector
    print(sum(map(len, vectors.values())), "vectors")


def main(arguments):
    relay = Relay(os.environ.get("RELAY", "http://127.0.0.1:8080"))
    match arguments:
        case ["register", platform, token]:
            status, answer = relay.ask("POST", "/v1/devices", body={"platform": platform, "token": token, "opens": True})
            if status != 201:
                sys.exit(f"{status} {answer.get('error')}")
            print(answer["capability"])
        case ["ring", capability, key, kind, title, body]:
            preview = seal({"t": title, "b": body}, base64url_bytes(key), tag_of(capability))
            patience = float(os.environ.get("PATIENCE", "60"))
            print(ring(relay, capability, {"kind": kind, "preview": preview}, patience))
        case ["remove", capability]:
            status, answer = relay.ask("DELETE", "/v1/push", capability)
            # One that is not there any more is as good as removed.
            print("removed" if status == 204 or answer.get("error") == "unknown_capability" else f"{status} {answer}")
        case ["vectors", path]:
            check_vectors(path)
        case _:
            sys.exit(__doc__)


main(sys.argv[1:])
