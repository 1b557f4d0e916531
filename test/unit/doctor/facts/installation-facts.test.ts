import { expect, it } from 'vitest';
import type { Installation } from '../../../../src/doctor/facts/installation.ts';
import { gatherInstallation } from '../../../../src/doctor/facts/installation-facts.ts';
import type { PodObject } from '../../../../src/objects/pod-object.ts';
import { answer, clientFor, refusal, startFakeApi } from '../../cluster/client/fake-api.ts';
import { INSTALLATION } from '../facts.ts';

const OWN = { kind: 'secret', secret: 'taintkeeper-certs' } as const;
const FILES = { kind: 'files', secret: 'taintkeeper-tls' } as const;

/** The installation, with certificates that its Deployment has its pods read there. */
function declaring(certificates: typeof OWN | typeof FILES): Installation {
  const { deployment } = INSTALLATION;
  return { ...INSTALLATION, deployment: deployment && { ...deployment, certificates } };
}

interface PodFeatures {
  readonly certificates: typeof OWN | typeof FILES;
  readonly isReady: boolean;
  readonly isTerminating?: boolean;
  /** Its controller. */
  readonly owner?: string;
}

function podObject(
  name: string,
  { certificates, isReady, isTerminating = false, owner = 'taintkeeper-7f9c' }: PodFeatures,
): PodObject {
  const [, hash = ''] = owner.split('-');
  return {
    metadata: {
      name,
      labels: { app: 'a', 'pod-template-hash': hash },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid: owner, controller: true }],
      ...(isTerminating ? { deletionTimestamp: '2026-11-29T00:00:00Z' } : {}),
    },
    spec:
      certificates.kind === 'secret'
        ? { containers: [{ args: ['serve', '--cluster'] }] }
        : {
            containers: [
              { args: ['serve', '--cert-dir=/certs'], volumeMounts: [{ name: 'certs', mountPath: '/certs' }] },
            ],
            volumes: [{ name: 'certs', secret: { secretName: certificates.secret } }],
          },
    status: { podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
  };
}

const oldReady = podObject('old-1', { certificates: OWN, isReady: true });
const oldUnready = podObject('old-2', { certificates: OWN, isReady: false });
const newReady = podObject('new-1', { certificates: FILES, isReady: true, owner: 'taintkeeper-5d8b' });
const newUnready = podObject('new-2', { certificates: FILES, isReady: false, owner: 'taintkeeper-5d8b' });
const UNKNOWN = { ...INSTALLATION, deployment: undefined };

it.each<{
  why: string;
  installation: Installation;
  /** Undefined: the user may not list pods. */
  pods?: readonly PodObject[];
  source: object;
  pending?: object;
}>([
  { why: 'as its pods and its Deployment say', installation: declaring(FILES), pods: [newReady], source: FILES },
  { why: 'as its pods say, if its Deployment cannot be read', installation: UNKNOWN, pods: [newReady], source: FILES },
  { why: 'the Deployment decides without the right to list pods', installation: declaring(FILES), source: FILES },
  { why: 'the Deployment decides without a pod', installation: declaring(FILES), pods: [], source: FILES },
  { why: 'its own, if neither pods nor the Deployment can be read', installation: UNKNOWN, source: OWN },
  {
    why: 'a rollout hangs: the Ready pods serve, and the new one is not Ready',
    installation: declaring(FILES),
    pods: [newUnready, oldReady, { ...oldReady, metadata: { ...oldReady.metadata, name: 'old-3' } }],
    source: OWN,
    pending: FILES,
  },
  {
    why: 'the same, and the Deployment cannot be read',
    installation: UNKNOWN,
    pods: [newUnready, oldReady],
    source: OWN,
  },
  {
    why: 'a rollout has created no pod yet',
    installation: declaring(FILES),
    pods: [oldReady],
    source: OWN,
    pending: FILES,
  },
  {
    why: 'a rollout ends: the old pods are not Ready any more',
    installation: declaring(FILES),
    pods: [oldUnready, newReady],
    source: FILES,
  },
  {
    why: 'a rollout back to its own ends: the old pods are being deleted',
    installation: declaring(OWN),
    pods: [
      podObject('files', { certificates: FILES, isReady: true, isTerminating: true }),
      podObject('own', { certificates: OWN, isReady: true, owner: 'taintkeeper-5d8b' }),
    ],
    source: OWN,
  },
  {
    why: 'a rollout continues: what all pods will read',
    installation: declaring(FILES),
    pods: [oldReady, newReady],
    source: FILES,
  },
  {
    why: 'a rollout back to its own continues',
    installation: declaring(OWN),
    pods: [newReady, oldReady],
    source: OWN,
  },
  {
    why: 'no pod is Ready: what the pods need that the Deployment starts',
    installation: declaring(FILES),
    pods: [oldUnready, newUnready],
    source: FILES,
  },
  {
    why: 'no pod is Ready, and a rollout has created none yet: what the pods need that exist',
    installation: declaring(OWN),
    pods: [newUnready],
    source: FILES,
    pending: OWN,
  },
  {
    why: 'no pod is Ready, and the Deployment was set back to its own',
    installation: declaring(OWN),
    pods: [newUnready, oldUnready],
    source: OWN,
  },
  {
    why: 'a pod is being deleted: it serves no longer',
    installation: declaring(OWN),
    pods: [podObject('leaving', { certificates: FILES, isReady: true, isTerminating: true }), oldUnready],
    source: OWN,
  },
  {
    why: 'a pod of another Deployment has the same labels',
    installation: declaring(OWN),
    pods: [podObject('other', { certificates: FILES, isReady: true, owner: 'proxy-66c4' }), oldUnready],
    source: OWN,
  },
  {
    why: 'a pod of another Deployment, whose name begins with the same word',
    installation: declaring(OWN),
    pods: [podObject('other', { certificates: FILES, isReady: true, owner: 'taintkeeper-canary-66c4' }), oldUnready],
    source: OWN,
  },
])('where its certificates are: $why', async ({ installation, pods, source, pending }) => {
  const api = await startFakeApi(({ path }, response) => {
    if (path.endsWith('/services/taintkeeper')) return answer(response, { spec: { selector: { app: 'a' } } });
    if (path.endsWith('/pods') && pods) return answer(response, { metadata: { resourceVersion: '1' }, items: pods });
    return answer(response, refusal(403, 'Forbidden', `cannot read ${path}`), 403);
  });
  const facts = await gatherInstallation((await clientFor(api.url)).client, installation);
  expect({ source: facts.certificateSource, pending: facts.pendingCertificates?.source }).toEqual({ source, pending });
});
