import { expect, it } from 'vitest';
import type { Found } from '../../../../src/judge/startup/blocker.ts';
import { type CsiNodeView, csiDriverBlockers } from '../../../../src/judge/startup/csi-drivers.ts';
import { viewCsiNode } from '../../../../src/objects/csi-node-object.ts';

const EBS = 'ebs.csi.aws.com';
const UID = 'node-uid';

/** As kubelets write it. */
const csiNode = (drivers: readonly string[] | undefined, uid = UID, kind = 'Node') => ({
  value: viewCsiNode({
    metadata: { name: 'n', ownerReferences: [{ apiVersion: 'v1', kind, name: 'n', uid }] },
    spec: { drivers: drivers?.map((name) => ({ name, nodeID: 'i-1', topologyKeys: null })) },
  }),
});

const RESTART = 'if that stays so, restart the kubelet of the node';

it.each<{ why: string; found: Found<CsiNodeView | undefined>; blocker?: string; uid?: undefined }>([
  { why: 'the driver has registered', found: csiNode(['efs.csi.aws.com', EBS]) },
  {
    why: 'another driver has',
    found: csiNode(['efs.csi.aws.com']),
    blocker: `Unmet CSI driver ${EBS}: it has not registered on the node`,
  },
  {
    why: 'none has yet',
    found: csiNode(undefined),
    blocker: `Unmet CSI driver ${EBS}: it has not registered on the node`,
  },
  {
    why: 'it is of an earlier Node of the name',
    found: csiNode([EBS], 'earlier-uid'),
    blocker: `Unmet CSI driver ${EBS}: the CSINode belongs to another Node of this name; ${RESTART}`,
  },
  {
    why: 'it is owned by another object than a Node',
    found: csiNode([EBS], UID, 'Pod'),
    blocker: `Unmet CSI driver ${EBS}: the CSINode belongs to another Node of this name; ${RESTART}`,
  },
  {
    why: 'it has no owner',
    found: { value: viewCsiNode({ metadata: { name: 'n' }, spec: { drivers: [{ name: EBS }] } }) },
    blocker: `Unmet CSI driver ${EBS}: the CSINode belongs to another Node of this name; ${RESTART}`,
  },
  {
    why: 'there is none: it was deleted while the kubelet ran',
    found: { value: undefined },
    blocker: `Unmet CSI driver ${EBS}: the node has no CSINode; ${RESTART}`,
  },
  {
    why: 'it has not been read',
    found: 'Unread',
    blocker: `Unread CSI driver ${EBS}: the CSINodes have not been read yet`,
  },
  {
    why: 'it may not be read',
    found: 'NotPermitted',
    blocker: `NotPermitted CSI driver ${EBS}: taintkeeper has no permission to read the CSINodes`,
  },
])('a CSI driver on a node where $why', ({ found, blocker }) => {
  const blockers = csiDriverBlockers([{ name: EBS }], UID, found);
  expect(blockers.map(({ text, state }) => `${state} ${text}`)).toEqual(blocker === undefined ? [] : [blocker]);
});

it('of several CSI drivers, those that have not registered are named', () => {
  const awaited = [{ name: EBS }, { name: 'a.example' }, { name: 'b.example' }];
  expect(csiDriverBlockers(awaited, UID, csiNode([EBS])).map(({ text }) => text)).toEqual([
    'CSI driver a.example: it has not registered on the node',
    'CSI driver b.example: it has not registered on the node',
  ]);
});

it('a Node without a uid owns no CSINode', () => {
  const unowned = { value: viewCsiNode({ metadata: {}, spec: { drivers: [{ name: EBS }] } }) };
  expect(csiDriverBlockers([{ name: EBS }], undefined, unowned)).toHaveLength(1);
});
