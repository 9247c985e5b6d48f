#!/usr/bin/env node
// A phone and its chat server, as far as the Gryt push relay is concerned. Node 18 or newer, no packages.
//
//   gryt-push.mjs register ios|android TOKEN               the phone: prints its capability
//   gryt-push.mjs ring CAPABILITY KEY KIND TITLE BODY      the server: prints what became of the push
//   gryt-push.mjs remove CAPABILITY                        the phone takes the capability back
//   gryt-push.mjs vectors docs/vectors/preview.json        checks the sealing below against the vectors
//
// The relay is $RELAY, such as https://push.gryt.chat. KEY is base64url of the 32 bytes that phone and server share.
// $PATIENCE is for how many seconds a push is worth being repeated (60).

import assert from "node:assert/strict";
import { webcrypto } from "node:crypto"; // Node 18 has no global `crypto`
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const RELAY = (process.env.RELAY ?? "http://127.0.0.1:8080").replace(/\/$/, "");

// ---- Sealing: 0x01 | nonce (12) | ciphertext | tag (16), as base64url without padding

const utf8 = (text) => new TextEncoder().encode(text);
const base64url = (bytes) => Buffer.from(bytes).toString("base64url");

function bytesOf(text) {
  const bytes = Buffer.from(text, "base64url");
  if (base64url(bytes) !== text) throw new Error("not_base64url"); // Node passes over what it does not know
  return bytes;
}

/** How the phone knows which of its servers rang. */
async function tagOf(capability) {
  const digest = await webcrypto.subtle.digest("SHA-256", utf8(capability));
  return Buffer.from(digest).toString("hex").slice(0, 16);
}

const importKey = (bytes) => webcrypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
const cipher = (nonce, tag) => ({ name: "AES-GCM", iv: nonce, additionalData: utf8(`gryt-push-1|${tag}`), tagLength: 128 });

/** `preview` is { t: title, s: subtitle if there is one, b: body }, in this order. */
async function seal(preview, key, tag, nonce = webcrypto.getRandomValues(new Uint8Array(12))) {
  const text = utf8(JSON.stringify(preview));
  const sealed = await webcrypto.subtle.encrypt(cipher(nonce, tag), await importKey(key), text);
  const all = base64url(Buffer.concat([Buffer.of(1), nonce, Buffer.from(sealed)]));
  if (all.length > 2048) throw new Error(`the preview is ${text.length - 1507} bytes too long`);
  return all;
}

/** What the app does. Where it throws, the fixed text stays on the screen. */
async function open(sealed, key, tag) {
  if (sealed.length < 40 || sealed.length > 2048) throw new Error("wrong_length");
  const bytes = bytesOf(sealed);
  if (bytes[0] !== 1) throw new Error("unknown_version");
  const text = await webcrypto.subtle
    .decrypt(cipher(bytes.subarray(1, 13), tag), await importKey(key), bytes.subarray(13))
    .catch(() => { throw new Error("not_genuine"); });
  let preview;
  try {
    preview = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(text));
  } catch {
    throw new Error("not_a_preview");
  }
  const { t, s, b } = preview ?? {};
  const isText = (value) => typeof value === "string";
  if (!isText(t) || !isText(b) || !(s == null || isText(s))) throw new Error("not_a_preview");
  return s == null ? { t, b } : { t, s, b };
}

// ---- Asking the relay

/** Status and body of the answer; it throws where there is none. `fetch` keeps connections by itself. */
async function ask(method, path, { capability, body } = {}) {
  const answer = await fetch(RELAY + path, {
    method,
    headers: capability ? { authorization: `Bearer ${capability}` } : {},
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(5000), // the relay answers a push within 4.5 seconds
  });
  const text = await answer.text();
  try {
    return { status: answer.status, ...(text && JSON.parse(text)) };
  } catch {
    return { status: answer.status }; // not the relay's: a page of a proxy, most likely
  }
}

/** What an answer to a push asks of the server. The code counts, not the status alone: a proxy's 404 has none. */
function whatToDo({ status, error, retry_after }) {
  if (status === 202) return "sent";
  if (error === "unknown_capability" || error === "gone") return "forget";
  if (retry_after !== undefined) return "later";
  if (error === "upstream_failed" || error === "internal") return "drop";
  return "alert"; // a fault of this program, or something that the relay's operator has to mend
}

/** What says that no connection came about: codes of Node's. */
const NOT_REACHED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

/** Pushes, and again where the relay asks for it and the push is still worth it. What became of it, in words. */
async function ring(capability, push, patience) {
  const deadline = Date.now() + patience * 1000;
  for (let attempt = 0; ; attempt++) {
    let answer;
    try {
      answer = await ask("POST", "/v1/push", { capability, body: push });
    } catch (error) {
      // Whatever went wrong after the request left, it may have been sent, and ringing twice is worse than not at all.
      if (!NOT_REACHED.has(error.cause?.code)) return "drop: no answer, it may have been sent";
      answer = { error: "no connection", retry_after: 2 ** attempt };
    }
    const deed = whatToDo(answer);
    if (deed !== "later") return answer.error ? `${deed}: ${answer.error}` : deed;
    if (attempt === 3 || Date.now() + answer.retry_after * 1000 > deadline) {
      return `drop: ${answer.error}, again in ${answer.retry_after} s`;
    }
    await sleep(answer.retry_after * 1000);
  }
}

async function checkVectors(path) {
  const vectors = JSON.parse(await readFile(path, "utf8"));
  for (const { capability, tag } of vectors.tag) assert.equal(await tagOf(capability), tag);
  for (const { key, capability, nonce, preview, sealed } of vectors.seal) {
    const tag = await tagOf(capability);
    assert.equal(await seal(preview, bytesOf(key), tag, Buffer.from(nonce, "hex")), sealed);
    assert.deepEqual(await open(sealed, bytesOf(key), tag), preview);
  }
  for (const { key, tag, preview, sealed } of vectors.open) {
    assert.deepEqual(await open(sealed, bytesOf(key), tag), preview);
  }
  for (const { name, error, key, tag, sealed } of vectors.refuse) {
    await assert.rejects(open(sealed, bytesOf(key), tag), { message: error }, name);
  }
  for (const { name, taken, text } of vectors.shape) {
    const whole = text.map(([piece, count]) => piece.repeat(count)).join("");
    assert.equal(/^[A-Za-z0-9_-]{40,2048}$/.test(whole), taken, name);
  }
  console.log(Object.values(vectors).flat().length, "vectors");
}

const [command, ...rest] = process.argv.slice(2);
if (command === "register" && rest.length === 2) {
  const [platform, token] = rest;
  const answer = await ask("POST", "/v1/devices", { body: { platform, token, opens: true } });
  if (answer.status !== 201) throw new Error(`${answer.status} ${answer.error}`);
  console.log(answer.capability);
} else if (command === "ring" && rest.length === 5) {
  const [capability, key, kind, title, body] = rest;
  const preview = await seal({ t: title, b: body }, bytesOf(key), await tagOf(capability));
  console.log(await ring(capability, { kind, preview }, Number(process.env.PATIENCE ?? 60)));
} else if (command === "remove" && rest.length === 1) {
  const { status, error } = await ask("DELETE", "/v1/push", { capability: rest[0] });
  // One that is not there any more is as good as removed.
  console.log(status === 204 || error === "unknown_capability" ? "removed" : `${status} ${error}`);
} else if (command === "vectors" && rest.length === 1) {
  await checkVectors(rest[0]);
} else {
  console.error("gryt-push.mjs register|ring|remove|vectors …: the head of this file says more");
  process.exitCode = 64;
}
