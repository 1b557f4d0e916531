import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseDocuments } from '../../../src/files/documents.ts';
import { InputError } from '../../../src/files/input-error.ts';
import { reviewablesOf, updatesBetween } from '../../../src/files/reviewables.ts';
import {
  CONTROL_PLANE_TAINT,
  daemonSetObject,
  nodeObject,
  TOLERATION_POLICY_YAML,
  taintPolicyYaml,
  taintRemovalReview,
} from '../reviews.ts';

const CONTEXT = { username: 'dev', groups: ['system:authenticated'], namespace: 'default' };

const documents = (...values: (object | string)[]) =>
  parseDocuments(
    values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('\n---\n'),
    'f.yaml',
  );

const review = (...values: (object | string)[]) => reviewablesOf(documents(...values), CONTEXT);

/** The requests in short: what, where, which. */
const shortly = ({ reviewables }: ReturnType<typeof review>) =>
  reviewables.map(({ request: { operation, resource, namespace, name } }) =>
    [operation, resource.resource, namespace, name].filter((part) => part !== undefined).join(' '),
  );

const node = nodeObject([]);
const daemonSet = daemonSetObject([]);
const CONFIG_MAP = { apiVersion: 'v1', kind: 'ConfigMap' };

describe('documents become requests', () => {
  it.each<{ why: string; values: (object | string)[]; requests: string[]; others: string[] }>([
    { why: 'a Node is being created', values: [node], requests: ['CREATE nodes cp-1'], others: [] },
    {
      why: 'a DaemonSet is being created in its namespace',
      values: [daemonSet],
      requests: ['CREATE daemonsets kube-flannel kube-flannel-ds'],
      others: [],
    },
    {
      why: 'a DaemonSet without namespace is in the one that was given',
      values: [daemonSetObject([], { namespace: undefined })],
      requests: ['CREATE daemonsets default kube-flannel-ds'],
      others: [],
    },
    {
      why: 'an AdmissionReview is what it is',
      values: [taintRemovalReview()],
      requests: ['UPDATE nodes cp-1'],
      others: [],
    },
    {
      why: 'of several documents, the kinds of others are told',
      values: [node, CONFIG_MAP, daemonSet, { apiVersion: 'apps/v1', kind: 'Deployment' }, CONFIG_MAP],
      requests: ['CREATE nodes cp-1', 'CREATE daemonsets kube-flannel kube-flannel-ds'],
      others: ['ConfigMap', 'Deployment', 'ConfigMap'],
    },
    {
      why: 'a List is its items',
      values: [{ apiVersion: 'v1', kind: 'List', items: [node, daemonSet, { apiVersion: 'v1', kind: 'Pod' }] }],
      requests: ['CREATE nodes cp-1', 'CREATE daemonsets kube-flannel kube-flannel-ds'],
      others: ['Pod'],
    },
    {
      why: 'items of a NodeList need no kind, as the API server writes them',
      values: [
        { apiVersion: 'v1', kind: 'NodeList', items: [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }] },
      ],
      requests: ['CREATE nodes a', 'CREATE nodes b'],
      others: [],
    },
    {
      why: 'items of a DaemonSetList neither',
      values: [{ apiVersion: 'apps/v1', kind: 'DaemonSetList', items: [{ metadata: { name: 'a', namespace: 'b' } }] }],
      requests: ['CREATE daemonsets b a'],
      others: [],
    },
    {
      why: 'an empty list is nothing',
      values: [
        { apiVersion: 'v1', kind: 'NodeList', items: [] },
        { apiVersion: 'v1', kind: 'NodeList', items: null },
      ],
      requests: [],
      others: [],
    },
    { why: 'no document is nothing', values: ['# nothing'], requests: [], others: [] },
    {
      why: "another API group's Node is none",
      values: [{ apiVersion: 'longhorn.io/v1beta2', kind: 'Node', metadata: { name: 'cp-1' }, spec: { tags: [] } }],
      requests: [],
      others: ['Node'],
    },
    {
      why: 'a kind that only ends in List is an object',
      values: [{ apiVersion: 'example.com/v1', kind: 'AllowList', spec: {} }],
      requests: [],
      others: ['AllowList'],
    },
  ])('$why', ({ values, requests, others }) => {
    const found = review(...values);

    expect(shortly(found)).toEqual(requests);
    expect(found.others).toEqual(others);
  });

  it('as made by the user and the groups that were given', () => {
    expect(review(node).reviewables[0]?.request.userInfo).toEqual({
      username: 'dev',
      groups: ['system:authenticated'],
    });
  });

  it.each<{ why: string; values: (object | string)[]; path: (string | number)[]; place: string | RegExp }>([
    {
      why: 'a manifest',
      values: ['kind: Node\napiVersion: v1\nspec:\n  taints:\n  - key: a\n'],
      path: ['request', 'object', 'spec', 'taints', 0],
      place: 'f.yaml:5:5: spec.taints[0]',
    },
    {
      why: 'a manifest, the whole of it',
      values: [node, 'kind: Node\napiVersion: v1'],
      path: ['request', 'object'],
      place: 'f.yaml:3:1',
    },
    {
      why: 'an item of a list',
      values: ['apiVersion: v1\nkind: NodeList\nitems:\n- {}\n- spec:\n    taints: 7\n'],
      path: ['request', 'object', 'spec', 'taints'],
      place: 'f.yaml:6:5: items[1].spec.taints',
    },
    {
      why: 'an AdmissionReview',
      values: [taintRemovalReview()],
      path: ['request', 'oldObject', 'spec'],
      place: /^f\.yaml:1:\d{3}: request\.oldObject\.spec$/,
    },
    {
      why: 'an AdmissionReview in a list',
      values: [{ apiVersion: 'v1', kind: 'List', items: [taintRemovalReview()] }],
      path: ['request', 'object'],
      place: /^f\.yaml:1:\d{3}: items\[0\]\.request\.object$/,
    },
  ])('with the places and fields of $why in the file', ({ values, path, place }) => {
    const found = review(...values)
      .reviewables.at(-1)
      ?.locate(path);

    expect(found).toEqual(typeof place === 'string' ? place : expect.stringMatching(place));
  });
});

describe('is refused, with its place:', () => {
  it.each<{ why: string; values: (object | string)[]; fault: string | RegExp }>([
    { why: 'text', values: ['hello'], fault: 'f.yaml:1:1: expected a Kubernetes object with apiVersion and kind' },
    { why: 'a list', values: ['[]'], fault: 'f.yaml:1:1: expected a Kubernetes object with apiVersion and kind' },
    {
      why: 'an object without kind',
      values: [node, 'apiVersion: v1'],
      fault: 'f.yaml:3:1: expected a Kubernetes object with apiVersion and kind',
    },
    {
      why: 'an object without apiVersion',
      values: ['kind: Node'],
      fault: 'f.yaml:1:1: expected a Kubernetes object with apiVersion and kind',
    },
    {
      why: 'a list whose items are none',
      values: ['apiVersion: v1\nkind: NodeList\nitems: {}'],
      fault: 'f.yaml:3:1: expected a list of items',
    },
    {
      why: 'an item that is no object',
      values: ['apiVersion: v1\nkind: NodeList\nitems:\n- metadata: {}\n- 7'],
      fault: 'f.yaml:5:3: expected a Kubernetes object with apiVersion and kind',
    },
    {
      why: 'an item of a List without kind',
      values: ['apiVersion: v1\nkind: List\nitems:\n- metadata: {}'],
      fault: 'f.yaml:4:3: expected a Kubernetes object with apiVersion and kind',
    },
    {
      why: 'a review that cannot be read',
      values: [taintRemovalReview({ uid: undefined })],
      fault: 'f.yaml:1:1: request: uid is missing',
    },
    {
      why: 'a TaintPolicy',
      values: [node, taintPolicyYaml('Deny')],
      fault: 'f.yaml:3:1: this is a TaintPolicy: name its file with --policies',
    },
    {
      why: 'a TolerationPolicy in a list',
      values: [{ apiVersion: 'v1', kind: 'List', items: [parse(TOLERATION_POLICY_YAML)] }],
      fault: /^f\.yaml:1:\d+: this is a TolerationPolicy: name its file with --policies$/,
    },
  ])('$why', ({ values, fault }) => {
    const message = typeof fault === 'string' ? fault : expect.stringMatching(fault);
    expect(() => review(...values)).toThrow(expect.objectContaining({ name: 'InputError', message }));
  });
});

describe('updatesBetween', () => {
  const update = (before: (object | string)[], after: (object | string)[]) =>
    updatesBetween(documents(...before), documents(...after), CONTEXT);
  const tainted = nodeObject([CONTROL_PLANE_TAINT]);

  it('pairs old and new objects by kind, namespace and name, in the order of the new ones', () => {
    const other = nodeObject([], { name: 'cp-2' });
    const updates = update([daemonSet, tainted, other], [other, node, daemonSet]);

    expect(shortly(updates)).toEqual([
      'UPDATE nodes cp-2',
      'UPDATE nodes cp-1',
      'UPDATE daemonsets kube-flannel kube-flannel-ds',
    ]);
    expect(updates.reviewables[1]?.request).toMatchObject({ oldObject: tainted, object: node });
  });

  it('tells the kinds of other objects of the new side', () => {
    expect(update([node, CONFIG_MAP], [node, { apiVersion: 'v1', kind: 'Pod' }]).others).toEqual(['Pod']);
  });

  it.each([
    {
      why: 'a new object without an old one',
      before: [],
      after: [node],
      fault: 'f.yaml:1:1: nodes/cp-1 has no old object',
    },
    {
      why: 'an old object without a new one',
      before: [node],
      after: [],
      fault: 'f.yaml:1:1: nodes/cp-1 has no new object',
    },
    {
      why: 'a DaemonSet that changed its namespace',
      before: [daemonSet],
      after: [daemonSetObject([], { namespace: 'elsewhere' })],
      fault: 'daemonsets/elsewhere/kube-flannel-ds has no old object',
    },
    {
      why: 'two old objects of one identity',
      before: [node, tainted],
      after: [node],
      fault: 'f.yaml:3:1: nodes/cp-1 is there twice',
    },
    {
      why: 'two new objects of one identity',
      before: [daemonSet],
      after: [daemonSet, daemonSet],
      fault: 'f.yaml:3:1: daemonsets/kube-flannel/kube-flannel-ds is there twice',
    },
  ])('refuses $why', ({ before, after, fault }) => {
    expect(() => update(before, after)).toThrow(InputError);
    expect(() => update(before, after)).toThrow(fault);
  });

  it('finds the places of both sides in their own files', () => {
    const [found] = updatesBetween(
      parseDocuments('# one line more\napiVersion: v1\nkind: Node\nspec: 7\nmetadata: {name: a}', 'old.yaml'),
      parseDocuments('apiVersion: v1\nkind: Node\nspec: 7\nmetadata: {name: a}', 'new.yaml'),
      CONTEXT,
    ).reviewables;

    expect(found?.locate(['request', 'oldObject', 'spec'])).toBe('old.yaml:4:1: spec');
    expect(found?.locate(['request', 'object', 'spec'])).toBe('new.yaml:3:1: spec');
  });
});
