import { join } from 'node:path';
import { cacheFolder, type GoModule, unbuilt } from './go-modules.ts';
import { KUBERNETES } from './kubernetes.ts';
import { whyNotBuilt } from './not-built.ts';

/** What a node runs of Kubernetes: the same go.mod as the control plane, and built only where a real node can run. */
export const NODE_PROGRAMS: GoModule = {
  ...KUBERNETES,
  packages: {
    kubelet: 'k8s.io/kubernetes/cmd/kubelet',
    'kube-proxy': 'k8s.io/kubernetes/cmd/kube-proxy',
  },
};

/** The container runtime. runc is Debian's: it needs cgo. */
export const CONTAINERD: GoModule = {
  folder: join(import.meta.dirname, 'containerd'),
  packages: {
    containerd: 'github.com/containerd/containerd/v2/cmd/containerd',
    'containerd-shim-runc-v2': 'github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2',
    ctr: 'github.com/containerd/containerd/v2/cmd/ctr',
  },
  linkerVariables: (version) => ({ 'github.com/containerd/containerd/v2/version.Version': version }),
};

/** Why a node, or the control plane that it has, lacks one of its programs, if so. */
export function obstacleToNodePrograms(): string | undefined {
  const [absent] = [KUBERNETES, NODE_PROGRAMS, CONTAINERD].flatMap((module) =>
    unbuilt(module).map((program) => whyNotBuilt(module, program)),
  );
  return absent;
}

/** The folders that have the programs of a node. */
export function nodeProgramFolders(): string[] {
  return [cacheFolder(NODE_PROGRAMS), cacheFolder(CONTAINERD)];
}
