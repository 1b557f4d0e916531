import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { Answer } from '../control-plane/rest.ts';
import { admin } from '../control-plane/users.ts';
import type { RealCluster } from './real-cluster.ts';

/** What became of a request. */
export type Outcome =
  /** Refused by the policy, or given the tolerations; a label, on which no policy has a say, was set. */
  | 'right'
  /** Refused, though not by the policy: the webhook, or the API server itself, was not reached. */
  | 'failed'
  /** It passed without the webhook's doing. */
  | 'missed'
  /** No policy is about it, and it failed because of a webhook. */
  | 'wrong';

export interface Sent {
  readonly what: 'removal' | 'daemonset' | 'label';
  readonly outcome: Outcome;
  /** When it was sent, in seconds after the start of the load. */
  readonly at: number;
  /** How long the answer took, in seconds. */
  readonly seconds: number;
  /** What the answer said, where it was not right. */
  readonly message: string;
}

export interface Load {
  /** Sends no more, waits for the answers, and gives all of them in the order of sending. */
  stop(): Promise<readonly Sent[]>;
}

const DAEMON_SET = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'kube-flannel-load', namespace: 'kube-system' },
  spec: {
    selector: { matchLabels: { app: 'load' } },
    template: {
      metadata: { labels: { app: 'load' } },
      spec: { containers: [{ name: 'c', image: 'localhost/busybox:1' }] },
    },
  },
};

/**
 * Dry runs at a steady rate, whether or not earlier ones were answered: by turns one that removes all taints of node n1, which a Deny
 * policy has to protect, one that creates a DaemonSet, and one that labels the node.
 */
export function startLoad(cluster: RealCluster, { perSecond = 15 }: { perSecond?: number } = {}): Load {
  const started = performance.now();
  const pending: Promise<Sent>[] = [];
  const turns = [removal, create, label];
  const send = () => pending.push(turns[pending.length % turns.length]?.() as Promise<Sent>);
  const timer = setInterval(send, 1000 / perSecond);
  return {
    stop: () => {
      clearInterval(timer);
      return Promise.all(pending);
    },
  };

  function removal(): Promise<Sent> {
    return judged('removal', patchNode({ spec: { taints: null } }), ({ status, body }) => {
      if (status === 200) return 'missed';
      return status === 403 && JSON.stringify(body).includes('removing taint') ? 'right' : 'failed';
    });
  }

  function create(): Promise<Sent> {
    const url = '/apis/apps/v1/namespaces/kube-system/daemonsets?dryRun=All';
    return judged('daemonset', cluster.request(admin, 'POST', url, { body: DAEMON_SET }), ({ status, body }) => {
      if (status !== 201) return 'failed';
      return JSON.stringify(body).includes('node-role.kubernetes.io/master') ? 'right' : 'missed';
    });
  }

  function label(): Promise<Sent> {
    return judged('label', patchNode({ metadata: { labels: { load: `${pending.length}` } } }), ({ status, body }) => {
      if (status === 200) return 'right';
      return JSON.stringify(body).includes('webhook') ? 'wrong' : 'failed';
    });
  }

  function patchNode(body: object): Promise<Answer> {
    return cluster.request(admin, 'PATCH', '/api/v1/nodes/n1?dryRun=All', { body, contentType: MERGE_PATCH });
  }

  async function judged(
    what: Sent['what'],
    request: Promise<Answer>,
    judge: (answer: Answer) => Outcome,
  ): Promise<Sent> {
    const sentAt = performance.now();
    const of = (outcome: Outcome, message: string): Sent => ({
      what,
      outcome,
      at: (sentAt - started) / 1000,
      seconds: (performance.now() - sentAt) / 1000,
      message: outcome === 'right' ? '' : message,
    });
    try {
      const answer = await request;
      return of(judge(answer), (answer.body as { message?: string }).message ?? '');
    } catch (error) {
      return of('failed', `${error}`);
    }
  }
}

/** Counts of a load, for a table. Times in seconds; a percentile is of all answers. */
export interface LoadSummary {
  readonly sent: number;
  readonly failed: number;
  readonly missed: number;
  readonly wrong: number;
  /** Answers that took longer than a second. */
  readonly slow: number;
  /** From the first that was not right, or slow, to the last; 0 for none. */
  readonly troubledSeconds: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Whether a request had another outcome than it should, or took more than a second. */
export function isDisturbed({ outcome, seconds }: Sent): boolean {
  return outcome !== 'right' || seconds > 1;
}

export function summarize(sent: readonly Sent[]): LoadSummary {
  const count = (outcome: Outcome) => sent.filter((one) => one.outcome === outcome).length;
  const troubled = sent.filter(isDisturbed);
  const times = sent.map(({ seconds }) => seconds).sort((a, b) => a - b);
  const percentile = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  const [first] = troubled;
  const last = troubled.at(-1);
  return {
    sent: sent.length,
    failed: count('failed'),
    missed: count('missed'),
    wrong: count('wrong'),
    slow: sent.filter(({ seconds }) => seconds > 1).length,
    troubledSeconds: first && last ? last.at + last.seconds - first.at : 0,
    p50: percentile(0.5),
    p99: percentile(0.99),
    max: percentile(1),
  };
}
