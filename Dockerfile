# The relay as an image: docs/image.md says what is in it, how it was proven, and how to run it.
#
#   docker build --build-arg VERSION=1.2.3 -t gryt-push .
#
# Nothing here knows of an architecture: linux/amd64 and linux/arm64 are built alike, each on a machine of its own kind.

# Both move with Debian's patches. To hold them still, give them with their digests, as
# swift:6.3-bookworm@sha256:…, which `docker buildx imagetools inspect swift:6.3-bookworm` tells.
ARG SWIFT_IMAGE=docker.io/library/swift:6.3-bookworm
ARG RUNTIME_IMAGE=docker.io/library/debian:bookworm-slim

FROM ${SWIFT_IMAGE} AS build
# What Package.swift links with; scripts/check-container holds the two together.
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        libevent-dev libjemalloc-dev libnghttp2-dev libsqlite3-dev libssl-dev pkg-config
WORKDIR /src
COPY Package.swift ./
# A file of the sources is a link to it.
COPY docs/openapi.json docs/openapi.json
COPY Sources Sources
# Package.swift names the tests, and SwiftPM wants to see every folder that it names.
COPY Tests Tests
RUN swift build -c release --static-swift-stdlib --product gryt-push \
    && install -D --strip .build/release/gryt-push /out/gryt-push

FROM ${RUNTIME_IMAGE}
# Libraries as Debian's packages, so that scanners see them and a rebuild brings their patches. Logs and caches would make
# two builds of the same thing differ. No program may lend its owner's rights.
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates libevent-core-2.1-7 libjemalloc2 libnghttp2-14 libsqlite3-0 libssl3 libstdc++6 \
    && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* \
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
    && install -d -m 0755 /etc/gryt-push \
    && install -d -m 0700 -o 10001 -g 10001 /data
COPY --from=build /out/gryt-push /usr/local/bin/gryt-push

# By number, so that Kubernetes can tell that it is not root.
USER 10001:10001
# A `.env` is read from here, if one is mounted; SIGHUP reads it again.
WORKDIR /etc/gryt-push
VOLUME /data
ENV DATA_DIR=/data
# The public port alone: `docker run -P` publishes what stands here, and the operator's port must never be.
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s --retries=3 CMD ["/usr/local/bin/gryt-push","health"]
ENTRYPOINT ["/usr/local/bin/gryt-push"]
CMD ["serve"]

# Last, for they change with every commit, and what stands above is then taken from the cache.
ARG VERSION=dev
ARG REVISION=
ARG CREATED=
ENV PUSH_VERSION=${VERSION}
LABEL org.opencontainers.image.title="Gryt push relay" \
    org.opencontainers.image.description="A blind relay between self-hosted Gryt chat servers and Apple's and Google's push services" \
    org.opencontainers.image.source="https://github.com/gryt-chat/push" \
    org.opencontainers.image.documentation="https://github.com/gryt-chat/push/blob/main/docs/image.md" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.created="${CREATED}"
