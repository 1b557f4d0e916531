import { expect, it } from 'vitest';
import type { KeptOffDaemonSet } from '../../../../src/judge/startup/blocker.ts';
import { lastingObstaclesText } from '../../../../src/judge/startup/waiting-taint.ts';
import { partsOf } from '../../../../src/policy/ready-when.ts';

const requirement = {
  taint: { key: 'example.com/network', effect: 'NoSchedule' },
  policyNames: ['p'],
  parts: partsOf({}),
  unknownParts: [],
  progressDeadlineMs: 600_000,
  removeAfterMs: undefined,
  setsAgain: false,
};
const DEDICATED = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const SPOT = { key: 'spot', effect: 'NoExecute' };

it.each<{ why: string; lastingObstacles: KeptOffDaemonSet[]; text: string }>([
  {
    why: 'one taint',
    lastingObstacles: [{ name: 'kube-system/cni', by: [DEDICATED] }],
    text: 'DaemonSet kube-system/cni, which does not tolerate dedicated=gpu:NoSchedule',
  },
  {
    why: 'two taints',
    lastingObstacles: [{ name: 'kube-system/cni', by: [DEDICATED, SPOT] }],
    text: 'DaemonSet kube-system/cni, which does not tolerate dedicated=gpu:NoSchedule, spot:NoExecute',
  },
  {
    why: 'two DaemonSets',
    lastingObstacles: [
      { name: 'kube-system/cni', by: [DEDICATED] },
      { name: 'gpu/driver', by: [SPOT] },
    ],
    text: 'DaemonSet kube-system/cni, which does not tolerate dedicated=gpu:NoSchedule, and DaemonSet gpu/driver, which does not tolerate spot:NoExecute',
  },
])(
  'lastingObstaclesText names the DaemonSets and the taints that keep them off: $why',
  ({ lastingObstacles, text }) => {
    expect(lastingObstaclesText({ requirement, lastingObstacles })).toBe(
      `startup taint example.com/network:NoSchedule waits for ${text}`,
    );
  },
);
