# taintkeeper's one file on a runtime without shell or package manager, as an ordinary user. The base images are
# arguments, so that a mirror or another base can be used.
ARG BUILD_IMAGE=docker.io/library/node:24-bookworm-slim
ARG RUNTIME_IMAGE=gcr.io/distroless/nodejs24-debian12:nonroot

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run build

FROM ${RUNTIME_IMAGE}
COPY --from=build /src/dist/taintkeeper.js /app/taintkeeper.js
COPY --from=build /src/LICENSE /app/LICENSE
USER 65532:65532
# A writable place for `--cert-dir` where no volume is mounted.
WORKDIR /tmp
EXPOSE 8443 8080
ENTRYPOINT ["/nodejs/bin/node", "/app/taintkeeper.js"]
CMD ["serve"]
