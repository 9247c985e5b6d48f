"""Read by schemathesis (scripts/check-api): every request that needs a capability gets a fresh one, of a phone that was
registered for it, since the request before may have taken the last one back."""

import json
import os
import secrets
import urllib.request

import schemathesis


@schemathesis.auth(refresh_interval=None)
class FreshCapability:
    def get(self, case, context):
        phone = secrets.choice([
            {"platform": "ios", "token": secrets.token_hex(32)},
            {"platform": "android", "token": secrets.token_urlsafe(96), "opens": True}])
        request = urllib.request.Request(f"{os.environ['RELAY']}/v1/devices", json.dumps(phone).encode())
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)["capability"]

    def set(self, case, capability, context):
        case.headers["Authorization"] = f"Bearer {capability}"
