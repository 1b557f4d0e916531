# taintkeeper's few files on a runtime without shell or package manager, as an ordinary user. The base images stand in FROM, where Dependabot
# updates their digests, which are of indexes for amd64 and arm64.

# The bundle is the same for every platform, so it is built on the machine's own, without emulation.
FROM --platform=$BUILDPLATFORM docker.io/library/node:24-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS build
WORKDIR /src
COPY package.json package-lock.json ./
# Without install scripts: the only one fetches a Node.js of its own, and the base image is one.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build

FROM gcr.io/distroless/nodejs24-debian12:nonroot@sha256:14d42e2511532589a7c7e01a753667a74fcc96266e137e8125006b87b0c32d0a AS runtime

# Compiling the program takes a fifth of a start. It is done here, by the Node.js and the user that will run it; others do without.
FROM runtime AS compile
COPY --from=build --chmod=0555 /src/dist /app
COPY --from=build --chmod=0555 /src/scripts/fill-compile-cache.ts /
USER 65532:65532
RUN ["/nodejs/bin/node", "/fill-compile-cache.ts", "/app/taintkeeper.cjs", "/tmp/compile-cache"]

FROM runtime
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="taintkeeper" \
      org.opencontainers.image.description="Keeps Kubernetes node taints where they belong" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build --chmod=0555 /src/LICENSE /src/dist /app/
COPY --from=compile --chown=0:0 --chmod=0555 /tmp/compile-cache /app/compile-cache
ENV NODE_COMPILE_CACHE=/app/compile-cache
USER 65532:65532
# A writable place for `--cert-dir`, where the root is writable and no volume is mounted.
WORKDIR /tmp
EXPOSE 8443 8080
ENTRYPOINT ["/nodejs/bin/node", "/app/taintkeeper.cjs"]
CMD ["serve"]
