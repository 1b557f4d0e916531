import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  cacheFolder,
  type GoModule,
  lockedVersion,
  type SourcePatch,
  unbuilt,
} from '../../control-plane/go-modules.ts';
import { whyNotBuilt } from '../../control-plane/not-built.ts';
import { hasUnifiedCgroups } from '../../real-node/cgroups.ts';

/** The bit of CAP_SYS_RESOURCE in the sets of capabilities of /proc; see capabilities(7). */
const CAP_SYS_RESOURCE = 24n;

/** talosctl, and machined, which is nearly all of Talos: init, apid, trustd, and the dashboard are this one program. */
export const TALOS: GoModule = {
  folder: join(import.meta.dirname, 'talos-1.13'),
  packages: {
    talosctl: 'github.com/siderolabs/talos/cmd/talosctl',
    machined: 'github.com/siderolabs/talos/internal/app/machined',
  },
  // Files that the root file system of a machine has besides.
  files: [
    'hack/zoneinfo/Etc/UTC',
    'hack/nfsmount.conf',
    'hack/containerd.toml',
    'hack/cri-containerd.toml',
    'hack/cri-plugin.part',
    'hack/lvm.conf',
  ],
  // As in Talos' Dockerfile.
  tags: ['tcell_minimal', 'grpcnotrace'],
  linkerVariables: () => ({ 'golang.zx2c4.com/wireguard/ipc.socketDirectory': '/system/wireguard-sock' }),
  patches: patchesFor({ lowersOomScores: lowersOomScores(), unifiedCgroups: hasUnifiedCgroups() }),
};

/** The version of Talos, such as `1.13.0`. */
export const TALOS_VERSION = lockedVersion(TALOS, 'machined').slice(1);

/** Why one of these programs of Talos is not there, if so. */
export function obstacleToTalos(programs: readonly string[]): string | undefined {
  const absent = unbuilt(TALOS).find((program) => programs.includes(program));
  return absent && whyNotBuilt(TALOS, absent, 'npm run test:places -- talos');
}

/** The path of one of its programs, or of one of its files. */
export function talosFile(name: string): string {
  return join(cacheFolder(TALOS), name);
}

/** What has to be changed in Talos on this machine. On a hosted runner, and on any machine that Talos supports, it is nothing. */
function patchesFor(machine: { lowersOomScores: boolean; unifiedCgroups: boolean }): SourcePatch[] {
  const patches: SourcePatch[] = [];
  if (!machine.lowersOomScores) {
    // Without CAP_SYS_RESOURCE nobody may lower a score, and none of Talos' services starts.
    const file = 'internal/app/machined/pkg/system/runner/runner.go';
    patches.push({ file, from: 'args.OOMScoreAdj = score', to: 'args.OOMScoreAdj = max(score, 0)' });
  }
  if (!machine.unifiedCgroups) {
    // Of cgroup v1, the kubelet's container needs the mounts below, one for each hierarchy.
    const file = 'internal/app/machined/pkg/system/services/kubelet.go';
    const mount = (option: string) =>
      `Destination: constants.CgroupMountPath, Source: constants.CgroupMountPath, Options: []string{"${option}", "rw"}`;
    patches.push({ file, from: mount('bind'), to: mount('rbind') });
  }
  return patches;
}

/** Whether a process may lower the score by which the kernel chooses what it kills when memory is short. */
export function lowersOomScores(): boolean {
  // Elsewhere than on Linux there are no machines of Talos, either.
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  const effective = /^CapEff:\s+(\w+)$/m.exec(status)?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> CAP_SYS_RESOURCE) & 1n) === 1n;
}
