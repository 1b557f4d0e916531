import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { Answer } from '../control-plane/rest.ts';
import { admin, developer } from '../control-plane/users.ts';
import { daemonSetPath, flannelManifest } from '../e2e/daemon-sets.ts';
import { OTHER, path } from '../e2e/nodes.ts';
import { type Judged, judgeAnswer, judgeError, type RequestKind, type Told } from './judged-answer.ts';
import type { Site } from './site.ts';
import type { Sample } from './tally.ts';

/** Of the requests on their way; beyond, requests that are due are not sent. */
const MAX_IN_FLIGHT = 300;
const DEFAULT_PER_SECOND = 20;
/** The default policy's CNI DaemonSets are here. */
export const CNI_NAMESPACE = 'kube-flannel';

/** Requests at a fixed rate, one kind after the other, whether or not the earlier ones have been answered. */
export interface Traffic {
  /** All that were answered since the beginning, or since {@link Traffic.forget}. */
  samples(): readonly Sample[];
  /** When that was, in milliseconds since the epoch. */
  since(): number;
  /** How many were due and not sent: too many were under way, or no node was left to take a taint from. */
  unsent(): number;
  /** Nodes that lost what they were to keep, and are left alone since. */
  lost(): readonly string[];
  /** DaemonSets that were created without what they need. */
  untolerating(): readonly string[];
  /** Begins to count anew. All nodes take part again; DaemonSets that are left are deleted. */
  forget(): Promise<void>;
  /** Sends no more, and waits for what is under way. */
  stop(): Promise<void>;
}

const KINDS: readonly RequestKind[] = ['removal-denied', 'removal-restored', 'label', 'own-taint', 'daemon-set'];

export function startTraffic(site: Site, perSecond = DEFAULT_PER_SECOND): Traffic {
  const { cp, pools } = site;
  let samples: Sample[] = [];
  let since = Date.now();
  let unsent = 0;
  const lost = new Set<string>();
  const untolerating = new Set<string>();
  const busy = new Set<string>();
  const underWay = new Set<Promise<void>>();
  let count = 0;
  const turns = { deny: 0, restore: 0, own: 0 };

  const began = performance.now();
  let due = 0;
  // Timers are late on a busy machine: what has become due since is made up for.
  const timer = setInterval(() => {
    for (; due < ((performance.now() - began) / 1000) * perSecond; due++)
      send(KINDS[due % KINDS.length] as RequestKind);
  }, 1000 / perSecond);

  function send(kind: RequestKind): void {
    // What nobody protects, nobody needs to keep.
    if (site.suspended && kind !== 'label' && kind !== 'own-taint') return;
    const node = nodeFor(kind);
    if (underWay.size >= MAX_IN_FLIGHT || node === undefined) {
      unsent++;
      return;
    }
    busy.add(node);
    const sending = one(kind, node).finally(() => {
      underWay.delete(sending);
      busy.delete(node);
    });
    underWay.add(sending);
  }

  /** The next one whose turn it is, and of which nothing is under way. For a DaemonSet, its name. */
  function nodeFor(kind: RequestKind): string | undefined {
    if (kind === 'daemon-set') return `flannel-${++count}`;
    const pool = kind === 'removal-denied' ? 'deny' : kind === 'removal-restored' ? 'restore' : 'own';
    const { nodes } = pools[pool];
    for (let tries = 0; tries < nodes.length; tries++) {
      const node = nodes[turns[pool]++ % nodes.length] as string;
      if (!busy.has(node) && !lost.has(node)) return node;
    }
    return undefined;
  }

  async function one(kind: RequestKind, name: string): Promise<void> {
    const sentAt = performance.now();
    const pool = kind === 'removal-denied' ? pools.deny : pools.restore;
    const kept = pool.taints.map(({ key }) => key);
    const judged: Judged = await ask(kind, name).then((answer) => judgeAnswer(kind, answer, kept), judgeError);
    samples.push({ kind, ...judged, sentAt, endedAt: performance.now() });
    if (kind === 'daemon-set') {
      if (judged.result === 'missed') untolerating.add(name);
      else if (judged.result === 'admitted') await remove(name);
    } else if (judged.result === 'missed') {
      lost.add(name);
    }
  }

  function ask(kind: RequestKind, name: string): Promise<Answer<Told>> {
    const patch = (body: object) =>
      cp.request<Told>(developer, 'PATCH', path(name), { body, contentType: MERGE_PATCH });
    switch (kind) {
      case 'removal-denied':
      case 'removal-restored':
        return patch({ spec: { taints: null } });
      case 'label':
        return patch({ metadata: { labels: { turn: String(++count) } } });
      case 'own-taint':
        return patch({ spec: { taints: ++count % 2 === 0 ? pools.own.taints : [...pools.own.taints, OTHER] } });
      case 'daemon-set': {
        const body = flannelManifest(CNI_NAMESPACE, name);
        return cp.request<Told>(developer, 'POST', daemonSetPath(CNI_NAMESPACE), { body });
      }
    }
  }

  /** Deletions are nobody's business. One that fails leaves a DaemonSet that nothing is wrong with. */
  async function remove(name: string): Promise<void> {
    await cp.request(admin, 'DELETE', daemonSetPath(CNI_NAMESPACE, name)).catch(() => {});
  }

  return {
    samples: () => samples,
    since: () => since,
    unsent: () => unsent,
    lost: () => [...lost],
    untolerating: () => [...untolerating],
    async forget() {
      samples = [];
      since = Date.now();
      unsent = 0;
      lost.clear();
      untolerating.clear();
      const { body } = await cp.request<{ items: { metadata: { name: string } }[] }>(
        admin,
        'GET',
        daemonSetPath(CNI_NAMESPACE),
      );
      for (const { metadata } of body.items) await remove(metadata.name);
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}
