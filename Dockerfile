# taintkeeper's few files on a runtime without shell or package manager, as an ordinary user. The base images stand in FROM, where Dependabot
# updates their digests, which are of indexes for amd64 and arm64.
#
# Before the first release: write IMAGE@DIGEST. `npm run release:dry` says how to get the digests, and a release without them is refused.

# The bundle is the same for every platform, so it is built on the machine's own, without emulation.
FROM --platform=$BUILDPLATFORM docker.io/library/node:26-trixie-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
# Without install scripts: the only one fetches a Node.js of its own, and the base image is one.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build

FROM gcr.io/distroless/nodejs26-debian13:nonroot AS runtime

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
