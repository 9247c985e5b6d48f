/// What the program's help says about orders.
enum ControlHelp {
    static let text = """
        Orders go to the control port while it runs, arguments in the query:

          C=https://localhost:8447/simulator; alias order='curl --http2 --cacert DIR/simulator-ca.pem'
          order $C/books                             every count; order $C/notifications[?token=T] what phones got
          order -X POST "$C/dead?token=T[&since=MS][&reason=ExpiredToken]"
                 [&noticed_after=SECONDS]                    accepted in vain until then
                 [&timestamp=ms|seconds|text|missing|null|fraction]
          …/alive?token=T[&environment=sandbox][&topic=NAME]          …/forget?token=T
          …/latency?service=S&ms=250                                  …/clock?seconds=3600
          …/online?token=T&online=false              out of reach; $C/shown?token=T is what it shows
          …/rate?platform=ios&count=N&seconds=N      pushes to one phone; project=true[&retry_after=…] all of FCM's
          …/key?id=K[&team=T][&environment=sandbox][&topics=A,B]      another key id for the same key; &revoked=true
          …/topic?name=NAME                          known to connections that are opened from now on
          …/access-tokens?revoke=true|account=usual|key-revoked|deleted|expires_in=JSON|missing|lifetime=SECONDS

        A token of nothing but hex digits counts as Apple's unless &platform=android says otherwise. The services are
        apns-production, apns-sandbox, fcm, oauth and, where connections are concerned, proxy.

        Faults, of a token or of a whole service (&service=S in place of &token=T), one after the other:

          …/force?token=T&status=429&reason=TooManyRequests[&retry_after=30]
                 [&times=N]      so often; without it, until …/clear?token=T
                 [&skips=N]      only after so many requests
                 [&delay_ms=N]   later than usual
                 [&delivers=true]   although the phone got it (faults of tokens only)
                 &action=answer&status=502&body=…[&content_type=…][&content_length=…]   exactly this
                 &action=cut&status=200&body=…&bytes=N&code=C    the headers, N bytes of the body, RST_STREAM
                 &action=silence, disconnect, reset[&code=C], goaway (below), frame (below)
                 &action=apns&status=N&reason=R&form=F           the body in any form; F=x is answered with the list
                 &action=fcm&kind=K[&details=usual|missing|reordered|extra|snake-case|odd][&retry_after=…]
                 &action=oauth&kind=K                            K=x is answered with the list of kinds
                 &action=proceed&act=A[&after=true]              the ordinary answer, and an act before or after it

        Acts, on every open connection of a service (…/act?service=S&act=A), with a fault, or by plan:

          goaway[&code=C][&text=…][&last=ID|&offset=-2][&closes=true]   by hand: nothing new is answered afterwards
          frame&type=N[&flags=N][&stream=ID][&payload=HEX][&length=N]   without stream: the request's own
          bytes&payload=HEX                           anything
          flood&flood=KIND[&count=N]                  ping, settings, continuation, headers, reset, empty-data,
                                                      priority, window-update, unknown, early-hints
          settings&id=N&value=N                       4 is INITIAL_WINDOW_SIZE, 1 HEADER_TABLE_SIZE, 3 the streams
          pings-only, half-dead, unread               no answers; no PING ACKs either; nothing is even read
          disconnect, close-notify, tcp-reset         the end
          …/goaway?service=S[&text=…]                 a GOAWAY in good order; …/disconnect?service=S at once

        How later connections behave; …/behaviour?service=S and any of these (usual=true starts anew):

          first_streams=N, streams=N                  the limit before and after the first accepted provider token
          over_limit=usual|refuse|goaway|serve        what a stream beyond it meets
          settings=at-once|never|MS                   when the first SETTINGS go out
          stream_window=N, connection_window=N, window_updates=usual|streams|never
          pings=false, settings_ack=false             PINGs and SETTINGS are not confirmed
          token_changes=connection|address|never      where a second new provider token in 20 minutes is noticed
          drops_to_one=true, wedges=true, future_too_many=true       APNs only
          tls=usual|expired|wrong-name|unknown-root|tls-1.1|no-alpn|http-1.1|http-1.1-after-h2
          when=opened|request:N|every:N|answer:N|ping:N|idle:MS|refusal:BadDeviceToken:N&act=A       adds to the plan
          action=…                                    adds a fault that each connection has for itself, as in force
          next=true                                   only the next connection

        New connections:

          …/listening?service=S&how=usual|refuse|drop[&family=v4|v6]            in the kernel
          …/reception?service=S&how=reset|close|stall|delay[&ms=N]|noise[&text=…][&times=N]    how=usual ends it
          …/reception?service=S&how=reset&beyond=N&seconds=N     only what comes faster than that

        The proxy (HTTP CONNECT; the real names of Apple and Google lead to their simulations):

          …/proxy?answer=refuse&status=503[&reason=…][&host=fcm.googleapis.com][&times=N]
          …/proxy?answer=connect[&reason=…]|huge[&bytes=N]|slow[&ms=N]|say&text=…|hang|close|reset|usual
          …/proxy?user=U&password=P              wants credentials; an empty user ends that


        """
}
