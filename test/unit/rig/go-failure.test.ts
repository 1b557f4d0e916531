import { expect, it } from 'vitest';
import { whyGoFailed } from '../../control-plane/go-failure.ts';

// As go 1.26 prints them; the proxy's address is another one.
it.each([
  {
    why: 'the registry has taken a version back',
    stderr: `go: downloading go.etcd.io/etcd/server/v3 v3.6.8
go: go.etcd.io/etcd/server/v3@v3.6.8: reading https://proxy.example/go.etcd.io/etcd/server/v3/@v/v3.6.8.zip: 403 Forbidden
\tserver response: This module version is not available.
`,
    is: 'go.etcd.io/etcd/server/v3@v3.6.8 is not served by the module proxy (403 Forbidden: This module version is not available.)',
  },
  {
    why: 'it has never had it',
    stderr:
      'go: example.com/none@v1.0.0: reading https://proxy.example/example.com/none/@v/v1.0.0.mod: 404 Not Found\n',
    is: 'example.com/none@v1.0.0 is not served by the module proxy (404 Not Found)',
  },
  {
    why: 'nobody answers',
    stderr: `go: downloading k8s.io/kubernetes v1.36.1
k8s.io/kubernetes@v1.36.1: Get "http://127.0.0.1:1/k8s.io/kubernetes/@v/v1.36.1.zip": dial tcp 127.0.0.1:1: connect: connection refused
`,
    is: 'k8s.io/kubernetes@v1.36.1: dial tcp 127.0.0.1:1: connect: connection refused',
  },
  {
    why: 'nobody may be asked',
    stderr: 'go: downloading k8s.io/kubernetes v1.36.1\nmodule lookup disabled by GOPROXY=off\n',
    is: 'module lookup disabled by GOPROXY=off',
  },
  {
    why: 'this Go is too old',
    stderr: 'go: go.mod requires go >= 1.99.0 (running go 1.26.8; GOTOOLCHAIN=local)\n',
    is: 'go: go.mod requires go >= 1.99.0 (running go 1.26.8; GOTOOLCHAIN=local)',
  },
  {
    why: 'go.sum is not the one of go.mod',
    stderr: `missing go.sum entry for module providing package helm.sh/helm/v4/cmd/helm; to add:
\tgo mod download helm.sh/helm/v4
`,
    is: 'missing go.sum entry for module providing package helm.sh/helm/v4/cmd/helm; to add: go mod download helm.sh/helm/v4',
  },
  {
    why: 'the code does not compile',
    stderr: '# example.com/broken\n./main.go:3:2: undefined: x\n',
    is: './main.go:3:2: undefined: x',
  },
  { why: 'it was killed', stderr: '', is: 'it said nothing' },
])('$why', ({ stderr, is }) => {
  expect(whyGoFailed(stderr)).toBe(is);
});
