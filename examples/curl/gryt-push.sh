#!/usr/bin/env bash
# A phone and its chat server, as far as the Gryt push relay is concerned, with curl.
#
#   gryt-push.sh register ios|android TOKEN               the phone: prints its capability
#   gryt-push.sh ring CAPABILITY KEY KIND TITLE BODY      the server: prints what became of the push
#   gryt-push.sh remove CAPABILITY                        the phone takes the capability back
#
# The relay is $RELAY, such as https://push.gryt.chat. KEY is base64url of the 32 bytes that phone and server share.
# $PATIENCE is for how many seconds a push is worth being repeated (60).
#
# openssl's command line has no AES-GCM, so the preview is sealed by the program of this repository that can: push-simulator,
# which has to be on PATH (.build/release, after scripts/demo). It takes capability and key as arguments, as this script does,
# and every user of the machine may read those: well enough for a simulator's phone, and not for a real one's.

set -euo pipefail
relay=${RELAY:-http://127.0.0.1:8080}

# Asks with the arguments of curl; sets $status and $body. The relay answers a push within 4.5 seconds.
ask() {
    local answer
    if answer=$(curl --silent --show-error --max-time 5 --write-out '\n%{http_code}' "$@"); then
        status=${answer##*$'\n'} body=${answer%$'\n'*}
    else
        # 6 and 7 are curl's words for a name or a connection that there is not. Whatever else went wrong, it may have been
        # sent, and ringing twice is worse than not at all.
        case $? in 6 | 7) ;; *) echo "drop: no answer, it may have been sent" && exit ;; esac
        status=000 body='{"error":"no connection","retry_after":2}'
    fi
}

# A member of $body: the relay's answers are flat.
member() { sed -nE "s/.*\"$1\":\"?([^\",}]*).*/\1/p" <<<"$body"; }

# The capability is a secret. Curl gets it from a file descriptor, as a server should do it, and not on its command line.
authorized() { ask --config <(printf 'header = "Authorization: Bearer %s"\n' "$1") "${@:2}"; }

ring() {
    local preview deadline=$((SECONDS + ${PATIENCE:-60})) attempt code wait
    preview=$(push-simulator phone seal --capability "$1" --key "$2" --title "$4" --body "$5")
    for attempt in 1 2 3 4; do
        authorized "$1" "$relay/v1/push" --data "{\"kind\":\"$3\",\"preview\":\"$preview\"}"
        code=$(member error) wait=$(member retry_after)
        # The code counts, not the status alone: a proxy's 404 has none.
        case $status,$code,$wait in
            202,*) echo "sent" ;;
            *,unknown_capability, | *,gone,) echo "forget: $code" ;;
            *,*,?*)
                if [ "$attempt" -lt 4 ] && [ $((SECONDS + wait)) -le "$deadline" ]; then
                    sleep "$wait"
                    continue
                fi
                echo "drop: $code, again in $wait s"
                ;;
            *,upstream_failed, | *,internal,) echo "drop: $code" ;;
            *) echo "alert: ${code:-$status}" ;;
        esac
        return
    done
}

case ${1-} in
    register)
        ask "$relay/v1/devices" --data "{\"platform\":\"$2\",\"token\":\"$3\",\"opens\":true}"
        [ "$status" = 201 ] || { echo "$status $(member error)" >&2 && exit 1; }
        member capability
        ;;
    ring) ring "${@:2}" ;;
    remove)
        authorized "$2" --request DELETE "$relay/v1/push"
        # One that is not there any more is as good as removed.
        case $status,$(member error) in
            204,* | *,unknown_capability) echo "removed" ;;
            *) echo "$status $(member error)" ;;
        esac
        ;;
    *)
        echo "gryt-push.sh register|ring|remove …: the head of this file says more" >&2
        exit 64
        ;;
esac
