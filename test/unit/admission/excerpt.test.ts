import { describe, expect, it } from 'vitest';
import { ExcerptTooLargeError, excerptOf } from '../../../src/admission/excerpt.ts';
import { MAX_COMPARED } from '../../../src/judge/node-changes.ts';
import { selectorLabels } from '../../../src/policy/policy-index.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { decisionsOn } from '../../fuzz/decisions.ts';
import { policySet } from '../policy/policies.ts';
import { daemonSetCreationReview, nodeUpdateReview } from '../reviews.ts';
import { excerpt, LABELS, taintsOf } from './excerpts.ts';

describe('an excerpt', () => {
  it('keeps what is read, in its order, and leaves the rest out', () => {
    const object = {
      metadata: { name: 'ü€😀"\\', managedFields: [{}], labels: { other: 'x', a: 'b', pool: 'c' } },
      spec: { taints: [{ key: 'k', effect: 'NoSchedule', extra: 1 }], podCIDR: '10.0.0.0/24' },
      status: { images: [{ names: [']}"'] }], nodeInfo: { machineID: 'm', systemUUID: 's' } },
    };
    const { request } = excerpt(nodeUpdateReview([], [], { object, oldObject: null, options: {} }));

    expect(request.object).toEqual({
      metadata: { name: 'ü€😀"\\', labels: { a: 'b', pool: 'c' } },
      spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] },
      status: { nodeInfo: { systemUUID: 's' } },
    });
    expect(request.oldObject).toBeNull();
    expect(request.userInfo).toEqual({ username: 'dev@example.com', groups: ['system:authenticated'] });
    expect('options' in request).toBe(false);
  });

  it('has a digest in place of what of a pod template is only compared', () => {
    const review = (image: string) => {
      const containers = [{ name: 'c', image, resources: {}, terminationMessagePath: '/dev/termination-log' }];
      const spec = { hostNetwork: true, tolerations: [{ operator: 'Exists' }], containers };
      return daemonSetCreationReview([], { object: { metadata: {}, spec: { template: { spec } } } });
    };
    const spec = (image: string) => excerpt(review(image)).request.object.spec.template.spec;

    expect(spec('a')).toEqual({
      hostNetwork: true,
      tolerations: [{ operator: 'Exists' }],
      containers: expect.stringMatching(/^[\w+/]{43}=$/),
    });
    expect(spec('a')).toEqual(spec('a'));
    expect(spec('a')).not.toEqual(spec('b'));
  });

  it('has a digest in place of a text that is longer than any name', () => {
    const providerId = (length: number, end: string) => {
      const object = { metadata: { name: 'n' }, spec: { providerID: `aws:///${'x'.repeat(length)}${end}` } };
      return excerpt(nodeUpdateReview([], [], { object })).request.object.spec.providerID;
    };

    expect(providerId(1_000, 'a')).toMatch(/^aws:\/\/\/x{1000}a$/);
    expect(providerId(1_000_000, 'a')).toMatch(/^[\w+/]{43}=$/);
    expect(providerId(1_000_000, 'a')).not.toBe(providerId(1_000_000, 'b'));
  });

  it('takes no list and no map where a text is read', () => {
    const { request } = excerpt(nodeUpdateReview([{ key: [{}], effect: { a: 1 } }], [], { name: [1, 2] }));
    expect(request.name).toEqual([]);
    expect(request.oldObject.spec.taints).toEqual([{ key: [], effect: {} }]);
  });

  it('keeps the annotations that are read, and leaves out the others', () => {
    const own = { 'taintkeeper.dev/allow-removal': 'a:NoSchedule, b:NoSchedule', 'taintkeeper.dev/ignore': 'true' };
    const long = 'x'.repeat(200_000);
    const annotations = { '<': 'é\n"\\', ...own, '': long, more: null, '€': '😀' };
    const { request } = excerpt(nodeUpdateReview([], [], { object: { metadata: { annotations } } }));

    expect(request.object.metadata.annotations).toEqual(own);
  });

  it('keeps of labels and annotations that are no texts one more than are read', () => {
    const numbers = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`n${n}`, n]));
    const { request } = excerpt(nodeUpdateReview([], [], { object: { metadata: { labels: { ...numbers, a: 'b' } } } }));
    expect(request.object.metadata.labels).toEqual({ n0: 0, n1: 1, n2: 2, a: 'b' });
  });

  it('keeps as many groups as count', () => {
    const groups = Array.from({ length: 3_000 }, (_, n) => `[g"${n}`);
    const { request } = excerpt(nodeUpdateReview([], [], { userInfo: { username: 'u', groups } }));
    expect(request.userInfo).toEqual({ username: 'u', groups: groups.slice(0, 1_024) });
  });

  it('keeps of tolerations one more than are judged', () => {
    const tolerations = Array.from({ length: 3_000 }, (_, n) => ({ key: `k${n}` }));
    const { request } = excerpt(daemonSetCreationReview(tolerations));
    expect(request.object.spec.template.spec.tolerations).toEqual(tolerations.slice(0, 257));
  });

  it.each([
    { what: 'in the middle', begins: 1, ends: 1, isOldFirst: false },
    { what: 'at the end', begins: 1, ends: 0, isOldFirst: false },
    { what: 'in the middle, the old ones first', begins: 1, ends: 1, isOldFirst: true },
    { what: 'at the end, the old ones first', begins: 1, ends: 0, isOldFirst: true },
    { what: 'at the beginning, the old ones first', begins: 0, ends: 1, isOldFirst: true },
    { what: 'everywhere, the old ones first', begins: 0, ends: 0, isOldFirst: true },
  ])(
    'keeps how many taints there were, and which ones there are, where too many to be compared differ $what',
    (one) => {
      const list = (middle: readonly object[]) => [
        ...taintsOf('first', one.begins),
        ...middle,
        ...taintsOf('last', one.ends),
      ];
      for (const [before, after] of [
        [9_000, 8_999],
        [9_000, 0],
        [0, 9_000],
      ] as const) {
        const object = { metadata: {}, spec: { taints: list(taintsOf('new', after)) } };
        const oldObject = { metadata: {}, spec: { taints: list(taintsOf('old', before)) } };
        const { request, ...review } = nodeUpdateReview([], []);
        const { object: _, oldObject: __, ...rest } = request;
        const objects = one.isOldFirst ? { oldObject, object } : { object, oldObject };
        const kept = excerpt({ ...review, request: { ...rest, ...objects } }).request;
        expect(kept.object).toEqual(object);
        expect(kept.oldObject.spec.taints).toEqual(list(Array(before).fill({ key: 'a', effect: '' })));
      }
    },
  );

  it.each([
    { what: 'taints', spec: { taints: Array(210_000).fill({}) } },
    { what: 'names of taints', spec: { taints: Array(900).fill({ key: 'k'.repeat(24_000) }) } },
  ])('is not made of more $what than two objects have that etcd accepts', ({ spec }) => {
    expect(() => excerpt(nodeUpdateReview([], [], { object: { metadata: {}, spec } }))).toThrow(ExcerptTooLargeError);
  });

  it('is not made where hundreds of fields stand that Kubernetes does not have', () => {
    const unknown = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`field-${n}`, 0]));
    expect(() => excerpt(nodeUpdateReview([], [], { object: unknown }))).toThrow(ExcerptTooLargeError);
  });

  it('is not made where a pod template has hundreds of unknown fields', () => {
    const spec = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`field-${n}`, 'x'.repeat(60)]));
    const review = daemonSetCreationReview([], { object: { metadata: {}, spec: { template: { spec } } } });
    expect(() => excerpt(review)).toThrow(ExcerptTooLargeError);
  });

  it.each([
    '',
    ' ',
    '{',
    '{"request":',
    '{"request":{"uid":"a}}',
    '{"a" 1}',
    '{"a":1}}',
    '{"a":]}',
    '{a:1}',
    '{"a":1;"b":2}',
    '{"kind":"a","kind":"b"}',
    '{"request":{"object":{"metadata":{"labels":{"a":"b","a":"c"}}}}}',
  ])('is not made of %j', (text) => {
    expect(() => excerptOf(Buffer.from(text), LABELS)).toThrow(SyntaxError);
  });

  it.each<{ what: string; policy: TaintPolicySpec; before: number; after: number; annotation?: string }>([
    {
      what: 'announces the removal of a taint, and adds thousands',
      policy: { mode: 'Restore', taints: [{ key: 'k', restrict: ['Removal'] }] },
      ...{ before: 0, after: MAX_COMPARED + 1, annotation: 'k:NoSchedule' },
    },
    {
      what: 'changes a restricted label, and removes thousands',
      policy: {
        mode: 'Deny',
        nodeSelector: { matchLabels: { a: '' } },
        taints: [{ key: 'k', restrict: ['Unselection'] }],
      },
      ...{ before: MAX_COMPARED + 1, after: 0 },
    },
  ])('of an update that $what leads to the same decision, wherever in the list the taint is', (one) => {
    const policies = policySet({ taint: { p: one.policy } });
    const spec = (count: number, place: number) => ({
      taints: taintsOf('n', count).toSpliced(Math.floor(count * place), 0, { key: 'k', effect: 'NoSchedule' }),
    });
    const annotations = one.annotation === undefined ? {} : { 'taintkeeper.dev/allow-removal': one.annotation };
    for (const [from, to] of [
      [0, 0],
      [1, 1],
      [0, 0.5],
      [0.5, 1],
    ] as const) {
      const object = { metadata: { name: 'n', labels: {}, annotations }, spec: spec(one.after, to) };
      const oldObject = { metadata: { name: 'n', labels: { a: '' } }, spec: spec(one.before, from) };
      const review = nodeUpdateReview([], [], { object, oldObject });
      const decisions = decisionsOn(excerpt(review, selectorLabels(policies)), policies);
      expect(decisions).toEqual(decisionsOn(review, policies));
      if (from === to) expect(JSON.stringify(decisions)).toMatch(/"announced"|unselection-denied/);
    }
  });
});
