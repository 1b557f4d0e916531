import { expect, it } from 'vitest';
import { parseMissing } from '../../control-plane/pins/missing.ts';

/** Go's own words, but for the registry's name. */
const UNAVAILABLE = '\n\tserver response: This module version is not available.';
const WORD = '403 Forbidden: This module version is not available.';
const at = (file: string) => `reading https://registry.example/${file}`;

it.each([
  {
    of: 'go mod download',
    error: `k8s.io/kubernetes@v1.36.99: ${at('k8s.io/kubernetes/@v/v1.36.99.info')}: 403 Forbidden${UNAVAILABLE}`,
    missing: [{ module: 'k8s.io/kubernetes', version: 'v1.36.99', word: WORD }],
  },
  {
    of: 'go mod download, from a registry of few words',
    error: `k8s.io/api@v0.36.2: ${at('k8s.io/api/@v/v0.36.2.info')}: 404 Not Found`,
    missing: [{ module: 'k8s.io/api', version: 'v0.36.2', word: '404 Not Found' }],
  },
  {
    of: 'go mod tidy, where several packages are of one module',
    error: `go: k8s.io/kubernetes/cmd/kubectl: k8s.io/kubernetes@v1.36.1: ${at('k8s.io/kubernetes/@v/v1.36.1.zip')}: 403 Forbidden${UNAVAILABLE}
go: go.etcd.io/etcd/server/v3 imports
	go.etcd.io/etcd/server/v3/etcdmain imports
	golang.org/x/net/http2: golang.org/x/net@v0.61.0: ${at('golang.org/x/net/@v/v0.61.0.zip')}: 403 Forbidden${UNAVAILABLE}
go: go.etcd.io/etcd/server/v3 imports
	github.com/soheilhy/cmux imports
	golang.org/x/net/http2/hpack: golang.org/x/net@v0.61.0: ${at('golang.org/x/net/@v/v0.61.0.zip')}: 403 Forbidden${UNAVAILABLE}`,
    missing: [
      { module: 'k8s.io/kubernetes', version: 'v1.36.1', word: WORD },
      { module: 'golang.org/x/net', version: 'v0.61.0', word: WORD },
    ],
  },
  {
    of: 'go mod tidy, where an old module asks for an old version',
    error: `go: github.com/grpc-ecosystem/go-grpc-middleware@v1.3.0 requires
	google.golang.org/grpc@v1.29.1 requires
	golang.org/x/net@v0.0.0-20180826012351-8a410e7b638d: ${at('golang.org/x/net/@v/v0.0.0-20180826012351-8a410e7b638d.mod')}: 403 Forbidden${UNAVAILABLE}`,
    missing: [{ module: 'golang.org/x/net', version: 'v0.0.0-20180826012351-8a410e7b638d', word: WORD }],
  },
  {
    of: 'go list -e',
    error: `golang.org/x/net/trace: ../modules/google.golang.org/grpc@v1.83.2/trace_withtrace.go:26:2: golang.org/x/net@v0.61.0: ${at('golang.org/x/net/@v/v0.61.0.zip')}: 403 Forbidden${UNAVAILABLE}`,
    missing: [{ module: 'golang.org/x/net', version: 'v0.61.0', word: WORD }],
  },
  {
    of: 'a look at the origin',
    error: 'github.com/kr/text@v9.9.9: invalid version: unknown revision v9.9.9',
    missing: [{ module: 'github.com/kr/text', version: 'v9.9.9', word: 'invalid version: unknown revision v9.9.9' }],
  },
])('the missing versions are read from what Go says: $of', ({ error, missing }) => {
  expect(parseMissing(error)).toEqual(missing);
});

it.each([
  [
    'the registry is out of order',
    `k8s.io/api@v0.36.2: ${at('k8s.io/api/@v/v0.36.2.info')}: 500 Internal Server Error`,
  ],
  [
    'there is no network',
    'k8s.io/api@v0.36.2: Get "https://registry.example/k8s.io/api/@v/v0.36.2.info": dial tcp 127.0.0.1:1: connect: connection refused',
  ],
  ['no registry may be asked', 'k8s.io/api@v0.36.2: module lookup disabled by GOPROXY=off'],
  ['go.sum lacks a line', 'missing go.sum entry for module providing package k8s.io/api/core/v1'],
])('no version is missing when %s', (_, error) => {
  expect(parseMissing(error)).toEqual([]);
});
