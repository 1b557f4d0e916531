import { describe, expect, it } from 'vitest';
import { CERTIFICATE_CHECKS, type CheckState, NETWORK_CHECKS } from '../../../src/doctor/check.ts';
import { diagnose } from '../../../src/doctor/diagnosis.ts';
import type { ApiServer } from '../../../src/doctor/facts/api-servers.ts';
import { OWN_CERTIFICATES } from '../../../src/doctor/facts/certificate-source.ts';
import { connectionFault } from '../../../src/doctor/facts/dial.ts';
import type { Facts } from '../../../src/doctor/facts/facts.ts';
import type { InstalledDeployment } from '../../../src/doctor/facts/installation.ts';
import { failedReading, type Reading, readingOf } from '../../../src/doctor/facts/reading.ts';
import type { ReplicaFacts } from '../../../src/doctor/facts/replica-facts.ts';
import type { Admission } from '../../../src/doctor/facts/send-trial.ts';
import { certificates, greeted, INSTALLATION, node, pod, replica, run, webhook, wellFacts } from './facts.ts';

const its = await certificates();
const expired = await certificates({ days: 91, by: its.ca });

const REFUSED = 'dial tcp 10.244.0.7:8443: connect: connection refused';
const failed = (message: string) => ({ outcome: 'failed', fault: connectionFault(message) }) as const;
const unreached = (message: string) => readingOf(failed(message));
const both = (changes: Partial<ReturnType<typeof replica>>) =>
  ['a', 'b'].map((name) => replica(name, greeted(its), changes));
const tried = (message: string) =>
  readingOf<Admission>({
    outcome: 'failed',
    what: 'removing the taints of node cp-1',
    webhook: 'protect.taintkeeper.dev',
    fault: connectionFault(message),
  });
const unscheduled = (changes: Partial<ReturnType<typeof pod>> = {}) => ({
  replicas: [],
  pods: readingOf([
    pod('a', {
      isReady: false,
      node: '',
      ip: undefined,
      problem: '0/2 nodes are available',
      cannotStart: 'unscheduled',
      ...changes,
    }),
  ]),
});
const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' } as const;
/** As the kubelet of a node without a CNI reports it. */
const withoutNetwork = (name: string) => ({
  ...node(name, {}, [NOT_READY]),
  ready: false,
  notReady:
    'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized',
});
const serviceWith = (spec: object) =>
  readingOf({ spec: { type: 'ClusterIP', clusterIP: '10.0.0.9', selector: { app: 'taintkeeper' }, ...spec } });
const policy = (ingress: object[]) =>
  readingOf([{ metadata: { name: 'default-deny' }, spec: { podSelector: {}, ingress } }]);

const deployed = (changes: Partial<InstalledDeployment>) => ({
  ...INSTALLATION,
  deployment: {
    name: 'taintkeeper',
    replicas: 2,
    selector: { app: 'taintkeeper' },
    labels: { app: 'taintkeeper' },
    certificates: OWN_CERTIFICATES,
    ...changes,
  },
});

interface Case {
  readonly why: string;
  readonly facts: Facts;
  /** Those that are not ok. */
  readonly found: Record<string, CheckState>;
  readonly says?: RegExp;
  readonly remedy?: RegExp;
}

describe('the network', () => {
  it('that is well, is said to be', () => {
    const checks = run(NETWORK_CHECKS, wellFacts(its));
    expect(checks.map(({ state }) => state)).toEqual(Array(6).fill('ok'));
  });

  it('has endpoints at addresses of IPv6, of pods and of none', () => {
    const [a, b] = both({ address: 'fd00::7' });
    const replicas = [a, { ...b, name: '[fd00::7]:8443', podName: undefined, pod: undefined }] as ReplicaFacts[];
    const checks = run(NETWORK_CHECKS, wellFacts(its, { replicas }));
    expect(checks.find(({ name }) => name === 'endpoints')).toMatchObject({
      state: 'ok',
      evidence: '2 ready: a ([fd00::7]:8443), [fd00::7]:8443',
    });
  });

  it.each<Case>([
    {
      why: 'no Service',
      facts: wellFacts(its, { service: readingOf(undefined), pods: readingOf([]), replicas: [] }),
      found: {
        Service: 'problem',
        replicas: 'skipped',
        endpoints: 'skipped',
        'round trip': 'skipped',
        NetworkPolicies: 'skipped',
      },
      says: /Service taintkeeper\/taintkeeper not found, and webhooks that call it are registered$/,
      remedy:
        /kubectl delete --ignore-not-found clusterrole,mutatingwebhookconfiguration,validatingwebhookconfiguration taintkeeper/,
    },
    {
      why: 'a Service that lacks the port that is called',
      facts: wellFacts(its, {
        service: serviceWith({ ports: [{ port: 8443 }] }),
        admission: tried('no service port 443 found for service "taintkeeper"'),
      }),
      found: { Service: 'problem', endpoints: 'skipped', admission: 'skipped' },
      says: /the webhooks call port 443 of .*, which has 8443$/,
      remedy: /"op":"add","path":"\/spec\/ports\/-","value":{"name":"webhook","port":443,"targetPort":"webhook"}/,
    },
    {
      why: 'webhooks that call another Service',
      facts: wellFacts(its, { installation: { ...INSTALLATION, namespace: 'other' } }),
      found: { Service: 'problem', endpoints: 'skipped' },
      says: /calls Service taintkeeper\/taintkeeper, not Service other\/taintkeeper/,
      remedy: /^check that installation: taintkeeper doctor --namespace taintkeeper$/,
    },
    {
      why: 'a targetPort on which no replica listens',
      facts: wellFacts(its, { replicas: both({ endpoint: { port: 9999, isReady: true } }), admission: tried(REFUSED) }),
      found: { endpoints: 'problem', admission: 'skipped' },
      says: /leads to port 9999 of a, which listens on 8443 \(webhook\) and 8080 \(admin\)$/,
    },
    {
      why: 'no pods',
      facts: wellFacts(its, { replicas: [], admission: tried('no endpoints available for service "taintkeeper"') }),
      found: {
        replicas: 'problem',
        endpoints: 'skipped',
        'round trip': 'skipped',
        NetworkPolicies: 'skipped',
        admission: 'skipped',
      },
      says: /^no pod in namespace taintkeeper has the labels of the Service \(app=taintkeeper\), though Deployment taintkeeper\/taintkeeper has 2 replicas$/,
      remedy: /^kubectl describe replicaset --namespace taintkeeper --selector=app.kubernetes.io\/name=taintkeeper$/,
    },
    {
      why: 'two pods that are not ready: the remedy is for the one whose cause is known',
      facts: wellFacts(its, {
        replicas: [],
        pods: readingOf([
          pod('a', { isReady: false }),
          pod('b', { isReady: false, problem: 'ErrImagePull', cannotStart: 'image' }),
        ]),
      }),
      found: { replicas: 'problem', endpoints: 'skipped', 'round trip': 'skipped', NetworkPolicies: 'skipped' },
      says: /^0 of 2 pods are ready; b: ErrImagePull; a: no reason given$/,
      remedy: /^its node cannot get the image: .*; kubectl describe pod --namespace taintkeeper b$/,
    },
    {
      why: 'no pods, because the Deployment requires none',
      facts: wellFacts(its, { replicas: [], installation: deployed({ replicas: 0 }) }),
      found: { replicas: 'problem', endpoints: 'skipped', 'round trip': 'skipped', NetworkPolicies: 'skipped' },
      says: /: Deployment taintkeeper\/taintkeeper is scaled to 0$/,
      remedy: /^kubectl scale --namespace taintkeeper deployment\/taintkeeper --replicas=2$/,
    },
    {
      why: 'no pods, because there is no Deployment',
      facts: wellFacts(its, { replicas: [], installation: { ...INSTALLATION, deployment: undefined } }),
      found: { replicas: 'problem', endpoints: 'skipped', 'round trip': 'skipped', NetworkPolicies: 'skipped' },
      says: /, and there is no Deployment$/,
      remedy: /^kubectl apply -f install.yaml$/,
    },
    {
      why: 'a selector that the pods do not have',
      facts: wellFacts(its, { replicas: [], installation: deployed({ labels: { app: 'guard' } }) }),
      found: {
        Service: 'problem',
        replicas: 'skipped',
        endpoints: 'skipped',
        'round trip': 'skipped',
        NetworkPolicies: 'skipped',
      },
      says: /^Service taintkeeper\/taintkeeper selects app=taintkeeper, and the pods of Deployment taintkeeper\/taintkeeper have app=guard$/,
      remedy:
        /^kubectl patch service --namespace taintkeeper taintkeeper --type=json --patch='\[{"op":"add","path":"\/spec\/selector","value":{"app":"taintkeeper"}}\]'$/,
    },
    {
      why: 'pods that do not come up',
      facts: wellFacts(its, {
        replicas: both({
          pod: pod('a', { isReady: false, problem: 'CrashLoopBackOff, restarted 7 times' }),
          endpoint: { port: 8443, isReady: false },
        }),
      }),
      found: { replicas: 'problem', endpoints: 'skipped', 'round trip': 'skipped' },
      says: /^0 of 2 pods are ready; a: CrashLoopBackOff, restarted 7 times; /,
    },
    {
      why: 'an image that no node can get',
      facts: wellFacts(its, {
        replicas: [],
        pods: readingOf([pod('a', { isReady: false, problem: 'ErrImagePull', cannotStart: 'image' })]),
      }),
      found: { replicas: 'problem', endpoints: 'skipped', NetworkPolicies: 'skipped', 'round trip': 'skipped' },
      says: /^0 of 1 pods are ready; a: ErrImagePull$/,
    },
    {
      why: 'pods that were rejected, beside those that run',
      facts: wellFacts(its, { rejectedPods: new Map([['NodeShutdown', 478]]) }),
      found: { replicas: 'note' },
      says: /^2 of 2 pods are ready; 478 others were rejected by their node \(NodeShutdown\)$/,
    },
    {
      why: 'all pods on one node, and another node that could take one',
      facts: wellFacts(its, { nodes: readingOf([node('n1'), node('n2')]) }),
      found: { replicas: 'note' },
      says: /^2 of 2 pods are ready, all on node n1, whose failure would stop them; one could run on n2$/,
      remedy: /^kubectl delete pod --namespace taintkeeper a$/,
    },
    {
      why: 'the same with an image that no registry has',
      facts: wellFacts(its, {
        nodes: readingOf([node('n1'), node('n2')]),
        pods: readingOf(['a', 'b'].map((name) => pod(name, { image: 'taintkeeper.invalid/taintkeeper:0.1.0' }))),
      }),
      found: { replicas: 'note' },
      says: /one could run on n2$/,
      remedy:
        /^no registry has the image: if n2 lacks it, first load it there; kubectl delete pod --namespace taintkeeper a$/,
    },
    {
      why: 'the same with an image that another node reports',
      facts: wellFacts(its, {
        nodes: readingOf([node('n1'), { ...node('n2'), loadedImages: ['taintkeeper.invalid/taintkeeper:0.1.0'] }]),
        pods: readingOf(['a', 'b'].map((name) => pod(name, { image: 'taintkeeper.invalid/taintkeeper:0.1.0' }))),
      }),
      found: { replicas: 'note' },
      says: /one could run on n2$/,
      remedy: /^kubectl delete pod --namespace taintkeeper a$/,
    },
    {
      why: 'the last replica of a cluster whose only node is being drained',
      facts: wellFacts(its, {
        replicas: [
          replica('a', greeted(its), {
            pod: pod('a', { isReady: false }),
            endpoint: { port: 8443, isReady: false },
            readiness: readingOf({
              isReady: false,
              failures: [{ name: 'drain', detail: 'node n1 is cordoned, and no other node takes a replica' }],
            }),
          }),
        ],
        pods: readingOf([
          pod('b', { isReady: false, node: '', problem: '0/1 nodes are available', cannotStart: 'unscheduled' }),
          pod('a', { isReady: false }),
        ]),
      }),
      found: { replicas: 'problem', endpoints: 'skipped', 'round trip': 'skipped' },
      says: /^0 of 2 pods are ready; b: 0\/1 nodes are available; a: drain failed: node n1 is cordoned/,
      remedy: /^kubectl uncordon n1$/,
    },
    {
      why: 'pods that wait for the first CNI',
      facts: wellFacts(its, { ...unscheduled(), nodes: readingOf([withoutNetwork('cp-1'), withoutNetwork('w-1')]) }),
      found: { replicas: 'problem', endpoints: 'skipped', 'round trip': 'skipped', NetworkPolicies: 'skipped' },
      says: /^0 of 1 pods are ready; a: 0\/2 nodes are available; cp-1, w-1 wait for a CNI: container runtime network not ready$/,
      remedy:
        /^install the CNI\. If it needs tolerations from taintkeeper, taintkeeper must run first: use the chart's preset host-network\.yaml, with a toleration of node\.kubernetes\.io\/not-ready:NoSchedule \(the installation guide, Environments\)$/,
    },
    {
      why: 'the same in the network of the nodes, without the toleration',
      facts: wellFacts(its, { ...unscheduled({ hostNetwork: true }), nodes: readingOf([withoutNetwork('cp-1')]) }),
      found: { replicas: 'problem', endpoints: 'skipped', 'round trip': 'skipped', NetworkPolicies: 'skipped' },
      remedy:
        /^install the CNI\. If it needs tolerations from taintkeeper, taintkeeper must run first: add a toleration of node\.kubernetes\.io\/not-ready:NoSchedule \(/,
    },
    {
      why: 'pods that wait for a node whose network the cloud has not set up',
      facts: wellFacts(its, {
        ...unscheduled(),
        nodes: readingOf([node('w-1', {}, [{ key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule' }])]),
      }),
      found: { replicas: 'problem', endpoints: 'skipped', 'round trip': 'skipped', NetworkPolicies: 'skipped' },
      says: /; w-1 waits for its network: taint node\.kubernetes\.io\/network-unavailable$/,
      remedy: /host-network\.yaml, which tolerates node\.kubernetes\.io\/network-unavailable:NoSchedule/,
    },
    {
      why: 'pods that wait for a node that is not Ready for another reason',
      facts: wellFacts(its, {
        ...unscheduled(),
        nodes: readingOf([{ ...withoutNetwork('cp-1'), notReady: 'container runtime is down' }]),
      }),
      found: { replicas: 'problem', endpoints: 'skipped', 'round trip': 'skipped', NetworkPolicies: 'skipped' },
      says: /; cp-1 is not Ready: container runtime is down$/,
      remedy: /^kubectl describe node cp-1$/,
    },
    {
      why: 'pods that a taint of the only node keeps off, whether it has a network or not',
      facts: wellFacts(its, {
        ...unscheduled(),
        nodes: readingOf([
          { ...withoutNetwork('w-1'), taints: [NOT_READY, { key: 'dedicated', effect: 'NoSchedule' }] },
        ]),
      }),
      found: { replicas: 'problem', endpoints: 'skipped', 'round trip': 'skipped', NetworkPolicies: 'skipped' },
      says: /^0 of 1 pods are ready; a: 0\/2 nodes are available$/,
      remedy: /^kubectl describe pod --namespace taintkeeper a$/,
    },
    {
      why: 'pods that do not fit on the node that has a network',
      facts: wellFacts(its, { ...unscheduled(), nodes: readingOf([withoutNetwork('cp-1'), node('w-1')]) }),
      found: { replicas: 'problem', endpoints: 'skipped', 'round trip': 'skipped', NetworkPolicies: 'skipped' },
      remedy: /^kubectl describe pod --namespace taintkeeper a$/,
    },
    {
      why: 'one of two pods is ready: it answers',
      facts: wellFacts(its, {
        replicas: [
          replica('a', greeted(its)),
          replica('b', failed(REFUSED), {
            pod: pod('b', { isReady: false }),
            endpoint: { port: 8443, isReady: false },
            reached: unreached(REFUSED),
          }),
        ],
      }),
      found: { replicas: 'note' },
      says: /^1 of 2 pods are ready; b: no reason given$/,
    },
    {
      why: 'a Service that could not be read, so that its endpoints are not known',
      facts: wellFacts(its, {
        service: failedReading('no answer within 5000 ms'),
        replicas: both({ endpoint: undefined }),
      }),
      found: { Service: 'skipped', endpoints: 'skipped' },
    },
    {
      why: 'pods that are ready, and no endpoint',
      facts: wellFacts(its, {
        replicas: both({ endpoint: undefined }),
        admission: tried('no endpoints available for service "taintkeeper"'),
      }),
      found: { endpoints: 'problem', admission: 'skipped' },
      says: /has no ready endpoint; 2 of its pods are ready$/,
    },
    {
      why: 'a process that has ended',
      facts: wellFacts(its, {
        replicas: [
          replica('a', greeted(its)),
          replica('b', failed('connect ECONNREFUSED'), { reached: unreached(REFUSED) }),
        ],
        admission: tried(REFUSED),
      }),
      found: { 'round trip': 'problem', admission: 'skipped' },
      says: /^the API server calls b \(10.244.0.7:8443\): connection refused: nothing listens/,
      remedy:
        /^the process has ended, .*: kubectl logs --previous --namespace taintkeeper b; kubectl delete pod --namespace taintkeeper b$/,
    },
    {
      why: 'packets that are lost between the API server and the pods',
      facts: wellFacts(its, {
        replicas: both({ reached: unreached('no answer within 3000 ms') }),
        admission: tried('context deadline exceeded'),
      }),
      found: { 'round trip': 'problem', admission: 'skipped' },
      says: /the API server calls a .*: no answer: packets are lost/,
      remedy: /it answers this machine \(port-forward\), so the path from the API server is blocked: open port 8443/,
    },
    {
      why: 'the same, where the pod of the CNI on the node of the replica is known: its tunnel is the first suspect',
      facts: wellFacts(its, {
        replicas: both({
          reached: unreached('no answer within 3000 ms'),
          cniPods: readingOf([
            { namespace: 'kube-system', name: 'multus-9', isReady: true },
            { namespace: 'kube-flannel', name: 'kube-flannel-ds-7', isReady: false },
          ]),
        }),
      }),
      found: { 'round trip': 'problem' },
      remedy:
        /^check whether the CNI's network to node n1 works\. See kubectl logs --namespace kube-flannel kube-flannel-ds-7 --all-containers \(not Ready\); kubectl logs --namespace kube-system multus-9 --all-containers, and its pod on the control-plane node\. If the CNI works: open port 8443 from/,
    },
    {
      why: 'the same, and the replica does not answer this machine either',
      facts: wellFacts(its, {
        replicas: [
          replica('a', failed('timed out'), {
            reached: unreached('no answer within 3000 ms'),
            cniPods: readingOf([{ namespace: 'kube-flannel', name: 'kube-flannel-ds-7', isReady: true }]),
          }),
        ],
      }),
      found: { 'round trip': 'problem' },
      remedy:
        /^check whether the CNI's network to node n1 works\. .* If the CNI works: it does not answer this machine either: check whether the process hangs/,
    },
    {
      why: 'the same, where pods may not be listed in all namespaces',
      facts: wellFacts(its, {
        replicas: both({
          reached: unreached('no answer within 3000 ms'),
          cniPods: failedReading('you may not list resource "pods"'),
        }),
      }),
      found: { 'round trip': 'problem' },
      remedy: /^it answers this machine \(port-forward\)/,
    },
    {
      why: 'the same, with a NetworkPolicy that explains it',
      facts: wellFacts(its, {
        replicas: both({ reached: unreached('no answer within 3000 ms') }),
        networkPolicies: policy([]),
      }),
      found: { 'round trip': 'problem', NetworkPolicies: 'note' },
      remedy: /^NetworkPolicy default-deny restricts connections to port 8443/,
    },
    {
      why: 'the replicas answer neither the API server nor this machine',
      facts: wellFacts(its, {
        replicas: ['a', 'b'].map((name) =>
          replica(name, failed('timed out'), { reached: unreached('no answer within 3000 ms') }),
        ),
        admission: tried('context deadline exceeded'),
      }),
      found: { 'round trip': 'problem', admission: 'skipped' },
      remedy: /^it does not answer this machine either/,
    },
    {
      why: 'from outside, without the right to have the API server call: nothing is known of the way',
      facts: wellFacts(its, {
        replicas: ['a'].map((name) =>
          replica(name, failed('timed out'), { reached: failedReading('you may not create resource "pods/proxy"') }),
        ),
      }),
      found: { 'round trip': 'skipped' },
      says: /usual outside the cluster/,
    },
    {
      why: 'a NetworkPolicy that selects only the pods that a rollout has started, by a new label',
      facts: wellFacts(its, {
        replicas: [
          replica('a', greeted(its)),
          replica('b', greeted(its), { pod: pod('b', { labels: { app: 'taintkeeper', team: 'platform' } }) }),
        ],
        networkPolicies: readingOf([
          { metadata: { name: 'platform' }, spec: { podSelector: { matchLabels: { team: 'platform' } } } },
        ]),
      }),
      found: { NetworkPolicies: 'note' },
      says: /^platform: no client may connect to port 8443 of b; it works only as long as/,
    },
    {
      why: 'a NetworkPolicy that lets only some connect',
      facts: wellFacts(its, { networkPolicies: policy([{ from: [{ podSelector: {} }] }]) }),
      found: { NetworkPolicies: 'note' },
      says: /: only some clients may connect to port 8443; the API server must be one of them$/,
    },
    {
      why: 'kube-proxy: all replicas are well, and the Service is not reached',
      facts: wellFacts(its, { admission: tried('dial tcp 10.0.0.9:443: i/o timeout') }),
      found: { admission: 'problem' },
      says: /fails at protect.taintkeeper.dev: no answer: packets are lost/,
      remedy: /kube-proxy/,
    },
    {
      why: 'a trial that passed as if the API server had called no webhook',
      facts: wellFacts(its, { admission: readingOf({ outcome: 'passed', what: 'removing the taints of node cp-1' }) }),
      found: { admission: 'note' },
    },
    {
      why: 'a native policy that says no: the API server asks it by itself',
      facts: wellFacts(its, {
        webhooks: readingOf([]),
        policies: readingOf([]),
        admission: readingOf({ outcome: 'answered natively', what: 'x', policy: 'gpu.protect.taintkeeper.dev' }),
      }),
      found: {},
    },
    ...[
      {
        policy: 'gpu.protect.taintkeeper.dev',
        says: /^x \(a dry run\) is refused by the API server itself: Validating/,
      },
      {
        policy: undefined,
        says: /^x \(a dry run\) is answered by the API server itself \(backstop: Native\); that does not show/,
      },
    ].map(({ policy, says }) => ({
      why: `a native policy that decides before the webhook: ${says}`,
      facts: wellFacts(its, {
        admission: readingOf({ outcome: 'answered natively', what: 'x', ...(policy ? { policy } : {}) } as const),
      }),
      found: { admission: 'skipped' as const },
      says,
    })),
    {
      why: 'nothing is registered',
      facts: wellFacts(its, { webhooks: readingOf([]), admission: readingOf({ outcome: 'passed', what: 'x' }) }),
      found: { admission: 'skipped' },
    },
  ])('$why', ({ facts, found, says, remedy }) => {
    const checks = run(NETWORK_CHECKS, facts);
    const notOk = checks.filter(({ state }) => state !== 'ok');
    expect(Object.fromEntries(notOk.map(({ name, state }) => [name, state]))).toEqual(found);
    const told = notOk.find(({ state }) => state === 'problem') ?? notOk[0];
    if (says) expect(told?.evidence).toMatch(says);
    if (remedy) expect(told?.remedy).toMatch(remedy);
  });

  it.each([
    {
      why: 'that select them',
      networkPolicies: policy([{}]),
      said: [
        'default-deny: all clients may connect to port 8443 of a, c',
        'default-deny: all clients may connect to port 18443 of b',
      ],
    },
    { why: 'that select none of them', networkPolicies: readingOf([]), said: ['none selects the pods'] },
  ])(
    'names the port of each pod for NetworkPolicies $why, because a rollout can change it',
    ({ networkPolicies, said }) => {
      const facts = wellFacts(its, {
        replicas: ['a', 'b', 'c'].map((name) => ({
          ...replica(name, greeted(its)),
          port: name === 'b' ? 18_443 : 8443,
        })),
        networkPolicies,
      });
      const told = run(NETWORK_CHECKS, facts).filter(({ name }) => name === 'NetworkPolicies');
      expect(told.map(({ evidence }) => evidence)).toEqual(said);
    },
  );

  describe('of a cluster with several API servers', () => {
    const WHAT = 'removing the taints of node cp-1';
    const STRANGER = 'the server has asked for the client to provide credentials';
    const at = (number: number, admission: Reading<Admission> | undefined, silence?: string): ApiServer => ({
      address: `10.0.0.${number}:6443`,
      admission,
      ...(silence === undefined ? {} : { silence }),
    });
    const ANSWERED = readingOf<Admission>({ outcome: 'answered', what: WHAT });
    const PASSED = readingOf<Admission>({ outcome: 'passed', what: WHAT });
    const NO_ROUTE = 'connect EHOSTUNREACH 10.0.0.2:6443';

    it.each<{ why: string; apiServers: Facts['apiServers']; changes?: Partial<Facts>; found: object[] }>([
      {
        why: 'all are answered',
        apiServers: readingOf([at(1, ANSWERED), at(2, ANSWERED)]),
        found: [
          {
            state: 'ok',
            evidence: `${WHAT} (a dry run) through API servers 10.0.0.1:6443, 10.0.0.2:6443 is answered by taintkeeper`,
          },
        ],
      },
      {
        why: 'one shows no client certificate, and the one that was asked first does',
        apiServers: readingOf([at(1, ANSWERED), at(2, tried(STRANGER))]),
        found: [
          { state: 'ok', evidence: expect.stringContaining('through API server 10.0.0.1:6443 is answered') },
          {
            state: 'problem',
            area: 'network',
            evidence: `${WHAT} (a dry run) through API server 10.0.0.2:6443 fails at protect.taintkeeper.dev: it was reached, and accepts known clients only (serve --client-ca) (${STRANGER})`,
            remedy: expect.stringMatching(
              /^configure API server 10\.0\.0\.2:6443 as 10\.0\.0\.1:6443: .*--admission-control-config-file/,
            ),
          },
        ],
      },
      {
        why: 'none shows a client certificate',
        apiServers: readingOf([at(1, tried(STRANGER)), at(2, tried(STRANGER))]),
        found: [
          {
            state: 'problem',
            evidence: expect.stringContaining('through API servers 10.0.0.1:6443, 10.0.0.2:6443 fails'),
            remedy: expect.stringContaining('leave out --client-ca'),
          },
        ],
      },
      {
        why: 'the call of one fails and is ignored, which only the difference shows',
        apiServers: readingOf([at(1, ANSWERED), at(2, PASSED)]),
        found: [
          { state: 'ok' },
          {
            state: 'problem',
            evidence: `${WHAT} (a dry run) passed through API server 10.0.0.2:6443 without an answer from taintkeeper, which answers 10.0.0.1:6443: the calls fail, and failurePolicy lets the requests pass`,
            remedy: expect.stringContaining('kubectl logs --namespace kube-system kube-apiserver-NODE'),
          },
        ],
      },
      {
        why: 'one does not reach the Service',
        apiServers: readingOf([at(1, ANSWERED), at(2, tried('dial tcp 10.0.0.9:443: i/o timeout'))]),
        found: [{ state: 'ok' }, { state: 'problem', remedy: expect.stringContaining('kube-proxy') }],
      },
      {
        why: 'one cannot be reached from here: the first answer may be of any',
        apiServers: readingOf([at(1, ANSWERED), at(2, undefined, NO_ROUTE)]),
        found: [
          {
            state: 'ok',
            evidence: expect.stringContaining('through API servers 10.0.0.1:6443, https://lb.example.com'),
          },
          {
            state: 'note',
            evidence: `API server 10.0.0.2:6443 was not called: this machine does not reach it (${NO_ROUTE})`,
            remedy: expect.stringContaining('run doctor in a pod'),
          },
        ],
      },
      {
        why: 'none can be reached from here, as usual outside the cluster',
        apiServers: readingOf([at(1, undefined, NO_ROUTE), at(2, undefined, NO_ROUTE)]),
        found: [
          { state: 'ok', evidence: `${WHAT} (a dry run) through https://lb.example.com is answered by taintkeeper` },
          { state: 'skipped', evidence: expect.stringContaining('that is usual outside the cluster') },
        ],
      },
      {
        why: 'the user may not list them',
        apiServers: failedReading('you may not list resource "endpointslices"'),
        found: [
          { state: 'ok', evidence: `${WHAT} (a dry run) is answered by taintkeeper` },
          { state: 'skipped', evidence: 'other API servers: you may not list resource "endpointslices"' },
        ],
      },
      {
        why: 'one does not know the user',
        apiServers: readingOf([at(1, ANSWERED), at(2, failedReading('GET /version: 401 Unauthorized'))]),
        found: [
          { state: 'ok' },
          { state: 'skipped', evidence: 'API server 10.0.0.2:6443: GET /version: 401 Unauthorized' },
        ],
      },
      {
        why: 'a failure whose cause another check reports',
        apiServers: readingOf([at(1, ANSWERED), at(2, tried(REFUSED))]),
        changes: { replicas: both({ endpoint: { port: 9999, isReady: true } }) },
        found: [{ state: 'ok' }, { state: 'skipped', evidence: expect.stringContaining('see endpoints') }],
      },
    ])('$why', ({ apiServers, changes, found }) => {
      const facts = wellFacts(its, { apiServers, apiServerUrl: 'https://lb.example.com', ...changes });
      expect(run(['admission'], facts)).toMatchObject(found);
    });
  });

  it('is not blamed for what an expired certificate does: pods that are not ready, and calls that fail', () => {
    const unready = pod('a', { isReady: false });
    const facts = wellFacts(its, {
      replicas: [
        replica('a', greeted(expired), {
          pod: unready,
          endpoint: { port: 8443, isReady: false },
          readiness: readingOf({
            isReady: false,
            failures: [{ name: 'certificate', detail: 'not valid after 2026-05-31T12:00:00.000Z' }],
          }),
        }),
      ],
      admission: tried('tls: failed to verify certificate: x509: certificate has expired or is not yet valid'),
    });
    const checks = run([...CERTIFICATE_CHECKS, ...NETWORK_CHECKS], facts);
    expect(checks.filter(({ state }) => state === 'problem').map(({ name }) => name)).toEqual(['serving certificate']);
    expect(diagnose(checks).result).toBe('certificate');
  });

  it('is not blamed for a certificate that only the API server refuses', () => {
    const facts = wellFacts(its, { admission: tried('x509: certificate relies on legacy Common Name field') });
    const problem = run(NETWORK_CHECKS, facts).find(({ state }) => state === 'problem');
    expect(problem).toMatchObject({ area: 'certificate', name: 'admission' });
  });

  it('is not sought where the webhook asks for a client certificate, and the API server shows none', () => {
    const facts = wellFacts(its, { admission: tried('the server has asked for the client to provide credentials') });
    const problem = run(NETWORK_CHECKS, facts).find(({ state }) => state === 'problem');
    expect(problem).toMatchObject({ name: 'admission', remedy: expect.stringContaining('leave out --client-ca') });
  });

  it('is not blamed for replicas that have no certificate to serve', () => {
    const facts = wellFacts(its, {
      secret: readingOf(undefined),
      replicas: [replica('a', failed(REFUSED), { reached: unreached(REFUSED) })],
    });
    const problems = run([...CERTIFICATE_CHECKS, ...NETWORK_CHECKS], facts).filter(({ state }) => state === 'problem');
    expect(problems.map(({ name }) => name)).toEqual(['Secret']);
  });

  it('cannot be told of without the right to see the Service', () => {
    const facts = wellFacts(its, {
      service: failedReading('you may not get resource "services"'),
      pods: failedReading('you may not list resource "pods"'),
    });
    expect(diagnose(run([...CERTIFICATE_CHECKS, ...NETWORK_CHECKS], facts))).toMatchObject({
      result: 'unknown',
      summary: 'Service: Service taintkeeper/taintkeeper: you may not get resource "services"',
    });
  });

  it('is not looked for where nothing but an address is known', () => {
    const facts = wellFacts(its, {
      service: readingOf({ spec: { type: 'ExternalName', externalName: 'localhost' } }),
      replicas: [
        replica('localhost', failed('connect ECONNREFUSED'), {
          address: 'localhost',
          pod: undefined,
          reached: failedReading('it is not known to be a pod'),
        }),
      ],
      pods: readingOf([]),
      webhooks: readingOf([webhook('protect.taintkeeper.dev', its.ca.cert)]),
    });
    const problems = run(NETWORK_CHECKS, facts).filter(({ state }) => state === 'problem');
    expect(problems.map(({ name }) => name)).toEqual(['round trip']);
    expect(problems[0]?.evidence).toMatch(/^this machine calls localhost/);
  });

  describe('is repaired by commands for pods only', () => {
    const NO_POD = { pod: undefined, reached: failedReading('it is not known to be a pod') };
    const service = readingOf({ spec: { type: 'ExternalName', externalName: 'webhook.example.com' } });
    const remedyOf = (message: string, changes: Partial<ReplicaFacts>) => {
      const called = replica('a', failed(message), { ...NO_POD, ...changes });
      const [found] = run(['round trip'], wellFacts(its, { service, pods: readingOf([]), replicas: [called] }));
      expect(found?.state).toBe('problem');
      return found?.remedy;
    };

    it.each(['connect ECONNREFUSED', 'ECONNRESET', 'it answered 500', 'x509: unknown authority', 'timed out'])(
      'an address or a host name is no name of a pod: %s',
      (message) => {
        expect(remedyOf(message, { name: 'webhook.example.com' })).not.toMatch(/kubectl/);
      },
    );

    it('a pod that only an EndpointSlice names has commands', () => {
      expect(remedyOf('timed out', { podName: 'a' })).toMatch(/kubectl logs --namespace taintkeeper a\)/);
    });

    it.each(['ECONNRESET', 'it answered 500', 'x509: unknown authority'])(
      'it is not known that the process has ended: %s',
      (message) => {
        expect(remedyOf(message, { podName: 'a' })).toBe(
          'see what its log says about the call: kubectl logs --namespace taintkeeper a',
        );
      },
    );
  });
});
