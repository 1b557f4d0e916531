import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { viewPolicy } from '../../../src/cluster/policies/policy-object.ts';
import { explainNode, formatNode } from '../../../src/explain/explain-node.ts';
import { type BlockedBy, whyNotSet } from '../../../src/judge/missing-taint.ts';
import { nodeMetadataManifests } from '../../../src/native/node-metadata.ts';
import type { StateOf } from '../../../src/policy/reporting/status-conditions.ts';
import { guideLines } from '../../e2e/guide-commands.ts';
import { policyObject } from '../../e2e/policy-objects.ts';
import { DEVELOPER, gpu, judgeUpdate, KUBELET, policyOf } from '../judge/request/node-updates.ts';
import { allPages, ROOT, shellCommandsOf } from './pages.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const ON_CALL = 'docs/on-call.md';
const TROUBLESHOOTING = 'docs/troubleshooting.md';

it('the function of docs/on-call.md starts the program as the image does', () => {
  const [line = ''] = guideLines('on-call.md', 'The command line in a replica');
  const [, entrypoint = ''] = /^ENTRYPOINT (\[.*\])$/m.exec(read('Dockerfile')) ?? [];
  expect(line).toContain(` -- ${(JSON.parse(entrypoint) as string[]).join(' ')} "$@"`);
});

interface Section {
  readonly path: string;
  readonly heading: string;
  readonly text: string;
}

/** The sections of a page, each up to the next heading: what a reader sees who follows a link to one. */
function sectionsOf(path: string): Section[] {
  return read(path)
    .split(/^##+ /m)
    .map((section) => {
      const [heading = '', ...lines] = section.split('\n');
      return { path, heading, text: lines.join('\n') };
    });
}

function textOf(page: string, heading: string): string {
  return sectionsOf(page).find((one) => one.heading === heading)?.text ?? '';
}

interface Row {
  /** What the first cell quotes. */
  readonly quoted: readonly string[];
  readonly whatToDo: string;
}

/** The rows of the tables of a section. */
function rowsOf(page: string, heading: string): Row[] {
  const rows = [...textOf(page, heading).matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.split(' | '));
  return rows.map((cells) => ({
    quoted: [...(cells[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, text = '']) => text),
    whatToDo: cells.at(-1) ?? '',
  }));
}

/** The texts that a section's tables quote, each part between ellipses. */
function quoted(page: string, heading: string): string[] {
  const texts = rowsOf(page, heading).flatMap((row) => row.quoted);
  return texts.flatMap((text) => text.split('…').map((part) => part.trim())).filter((part) => part.length > 3);
}

/** Texts of the API server, of kubelets and of Go's TLS. */
const OF_OTHERS = [
  'is not allowed to modify taints',
  'is not allowed to modify labels',
  'disruption budget',
  "would violate the pod's disruption budget",
  'failed calling webhook "',
];
const SOURCES = globSync('src/{explain,judge,kubernetes,native,policy/reporting,webhooks}/**/*.ts', { cwd: ROOT })
  .map(read)
  .join('\n');
/** Names in a message stand for others, and code makes the rest: `nativeName` makes the name of a native object from a literal. */
const literal = (text: string) =>
  text
    .replace(/^ValidatingAdmissionPolicy 'POLICY$|^'|'$|(?:POLICY)?"$/g, '')
    .replace(/^POLICY\.([a-z-]+)\.taintkeeper\.dev$/, "'$1'")
    .replace(/^POLICY\./, '');

describe('the pages quote what taintkeeper prints', () => {
  const tables = [
    { page: ON_CALL, heading: 'A node lost its taint', least: 9 },
    { page: ON_CALL, heading: 'A node keeps a startup taint', least: 4 },
    { page: ON_CALL, heading: 'A change is refused', least: 7 },
    { page: TROUBLESHOOTING, heading: 'Messages of refused changes', least: 10 },
    { page: TROUBLESHOOTING, heading: 'Remove it with permission', least: 3 },
  ];
  it.each(tables)('$page: $heading has texts', ({ page, heading, least }) => {
    expect(quoted(page, heading).length).toBeGreaterThanOrEqual(least);
  });

  const texts = tables.flatMap(({ page, heading }) => quoted(page, heading).map((text) => ({ page, text })));
  it.each(texts.filter(({ text }) => !OF_OTHERS.includes(text)))('$page: $text', ({ text }) => {
    expect(SOURCES).toContain(literal(text));
  });
});

/** What to do by the first row that quotes a part of the message. A last row without a text is for all others. */
function firstMatch(rows: readonly Row[], message: string): string | undefined {
  const matches = (text: string) => {
    const parts = text.split(/…|\bPOLICY\b/).map((part) => RegExp.escape(part.trim()));
    return new RegExp(parts.join('.*')).test(message);
  };
  const [, , ...below] = rows;
  return below.find((row) => row.quoted.length === 0 || row.quoted.some(matches))?.whatToDo;
}

/** Why an update is refused that removes a taint, as the webhook says. */
function refusal({
  mode = 'Restore',
  more = {},
  requester = DEVELOPER,
  taints = [gpu],
}: {
  readonly mode?: Parameters<typeof policyOf>[0];
  readonly more?: Parameters<typeof policyOf>[2];
  readonly requester?: typeof DEVELOPER;
  readonly taints?: readonly (typeof gpu)[];
}): string {
  const decision = judgeUpdate(policyOf(mode, [{ key: 'dedicated/*' }, { key: 'dedicated' }], more), 'validate', {
    ...{ before: taints, after: [], requester },
  });
  if (decision.action !== 'deny') throw new Error('it is not refused');
  return `admission webhook "protect.taintkeeper.dev" denied the request: ${decision.message}`;
}

describe('the first row that a refused change matches is the right one', () => {
  const [metadata] = nodeMetadataManifests().map(
    ({ spec }) => spec as { validations: { messageExpression: string }[] },
  );
  const annotation = (metadata?.validations[0]?.messageExpression ?? '')
    .replaceAll(/" \+ object\.metadata\.name \+ "/g, 'n1')
    .replaceAll(/^"|"$/g, '');
  const cases = [
    {
      why: 'a user removes a protected taint',
      message: refusal({ mode: 'Deny' }),
      onCall: 'run the command',
      troubleshooting: 'run the command',
    },
    {
      why: 'the policy allows no removal by annotation',
      message: refusal({ mode: 'Deny', more: { removalByAnnotation: 'Forbidden' } }),
      onCall: 'mode `Audit`',
      troubleshooting: '`spec.exempt`',
    },
    {
      why: 'a kubelet removes a protected taint: the policy is not the cause, and its own update is never allowed',
      message: refusal({ requester: KUBELET }),
      onCall: 'kubelet',
      troubleshooting: 'administrator',
    },
    {
      why: 'the same, where the policy allows no removal by annotation',
      message: refusal({ requester: KUBELET, more: { removalByAnnotation: 'Forbidden' } }),
      onCall: 'kubelet',
      troubleshooting: 'administrator',
    },
    {
      why: 'the same, refused by NodeRestriction',
      message: 'nodes "n1" is forbidden: node "n1" is not allowed to modify taints',
      onCall: 'kubelet',
      troubleshooting: 'administrator',
    },
    {
      why: 'a kubelet writes the annotation: the command of the message permits the loss of a taint',
      message: `nodes "n1" is forbidden: ValidatingAdmissionPolicy 'taintkeeper-node-metadata' with binding 'taintkeeper-node-metadata' denied request: ${annotation}`,
      onCall: 'messages-of-refused-changes',
      troubleshooting: 'only if the taint may go',
    },
    {
      why: 'too many taints are removed',
      message: refusal({
        mode: 'Deny',
        taints: Array.from({ length: 200 }, (_, index) => ({ ...gpu, key: `dedicated/${index}` })),
      }),
      onCall: 'messages-of-refused-changes',
      troubleshooting: 'fewer taints',
    },
    {
      why: 'a replica does not answer',
      message: 'failed calling webhook "protect.taintkeeper.dev": failed to call webhook: context deadline exceeded',
      onCall: 'the-webhook-does-not-answer',
    },
    {
      why: "another product's webhook does not answer",
      message: 'failed calling webhook "validate.example.com": failed to call webhook: context deadline exceeded',
      onCall: 'another-products-webhook',
    },
    {
      why: 'a disruption budget',
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      onCall: 'poddisruptionbudgets',
      troubleshooting: 'wait',
    },
  ];
  it.each(cases)('on call: $why', ({ message, onCall }) => {
    expect(firstMatch(rowsOf(ON_CALL, 'A change is refused'), message), message).toContain(onCall);
  });
  it.each(cases.filter((one) => 'troubleshooting' in one))('troubleshooting: $why', ({ message, troubleshooting }) => {
    expect(firstMatch(rowsOf(TROUBLESHOOTING, 'Messages of refused changes'), message), message).toContain(
      troubleshooting,
    );
  });
});

/** What `taintkeeper explain` prints of a node whose required taint another writer removes repeatedly. */
function explainedConflict(): string {
  const { metadata, ...policy } = policyObject('TaintPolicy', 'fought', {
    mode: 'Restore',
    taints: [{ ...gpu, ensure: 'Always' }],
  });
  const stalled: StateOf<'Stalled'>['reason'] = 'TaintConflict';
  const conditions = [
    { type: 'Stalled', status: 'True', reason: stalled, message: 'node n1, by field manager "other"' },
  ];
  const stored = { ...policy, metadata: { ...metadata, uid: 'u', generation: 1 }, status: { conditions } };
  const facts = { audit: false, events: [], notes: [], now: 0 };
  const policies = [viewPolicy('TaintPolicy', stored)];
  return JSON.stringify(formatNode(explainNode({ metadata: { name: 'n1' } }, 'n1', { ...facts, policies })).sections);
}

describe('a node lost its taint: there is a row for each reason that explain gives', () => {
  const whatToDo: Record<Exclude<BlockedBy, 'Conflict'>, string> = {
    ModeDoesNotRestore: 'set the policy to mode',
    WouldEvictPods: 'NoExecute',
    OtherValuePresent: '--overwrite',
    ValuesDiffer: 'one value',
  };
  it.each([
    ...Object.entries(whatToDo).map(([blockedBy, row]) => ({ text: whyNotSet(blockedBy as BlockedBy), row })),
    // The command does not ask the leader: the status of the policy is all that it has of the conflict.
    { text: explainedConflict(), row: 'stop the writer' },
    { text: whyNotSet('ModeDoesNotRestore', { onTrial: true }), row: '--audit' },
    { text: whyNotSet(undefined), row: 'doctor' },
    { text: 'dedicated=gpu:NoSchedule  kept-off  required by p (Restore, spec.taints[0])', row: 'annotation' },
  ])('$text', ({ text, row }) => {
    expect(firstMatch(rowsOf(ON_CALL, 'A node lost its taint'), text)).toContain(row);
  });
});

describe('a section has what its commands need, for a reader who comes by a link', () => {
  const pages = allPages().filter(({ path }) => path.startsWith('docs/runbooks/'));
  const sections = [
    ...[ON_CALL, TROUBLESHOOTING].flatMap(sectionsOf),
    ...pages.map(({ path, text }) => ({ path, heading: 'Diagnosis', text })),
  ];
  const needs = [
    {
      what: 'how to run taintkeeper',
      commands: /^taintkeeper (?!\(\))/,
      link: /\]\([^)]*#(the-command-line-in-a-replica|run-the-doctor)\)/,
      saidBy: ['The command line in a replica', 'Run the doctor'],
      least: 20,
    },
    {
      what: 'that Argo CD and Flux revert it',
      commands:
        /^kubectl .*patch (daemonset|deployment|\w+policy|tolerationrestriction|KIND) |delete .*clusterrole,|^helm upgrade/,
      link: /\]\([^)]*#suspend-argo-cd-or-flux\)/,
      saidBy: ['Suspend Argo CD or Flux'],
      least: 6,
    },
  ];
  describe.each(needs)('$what', ({ commands, link, saidBy, least }) => {
    const concerned = sections.flatMap((section) => {
      const found = shellCommandsOf(section).filter((command) => commands.test(command));
      return found.length === 0 || saidBy.includes(section.heading) ? [] : [{ ...section, found }];
    });

    it.each(concerned)('$path, $heading', ({ text, found }) => {
      // A command in the text can be the link itself.
      const ends = found.map((command) => {
        const begin = text.indexOf(command);
        expect(begin, command).toBeGreaterThanOrEqual(0);
        return begin + command.length;
      });
      expect(text.search(link)).toBeGreaterThanOrEqual(0);
      expect(text.search(link)).toBeLessThanOrEqual(Math.min(...ends) + 1);
    });
    it('there are such sections', () => {
      expect(concerned.length).toBeGreaterThanOrEqual(least);
    });
  });
});

describe('each situation leads to its command within 200 words', () => {
  /** The words that a reader sees: targets of links and the lines of tables are none. */
  const words = (text: string) =>
    text
      .replaceAll(/\]\([^)]*\)/g, '')
      .replaceAll(/[|`[\]]|---|^#+/gm, ' ')
      .split(/\s+/)
      .filter(Boolean).length;

  const TALOS = 'talos.md#repair-a-node-now';
  const UPGRADE = 'upgrading.md#an-upgrade-hangs';
  it.each([
    { why: 'locked out', path: ['#locked-out'], command: 'kubectl delete --ignore-not-found clusterrole' },
    { why: 'a refused change, by the message', path: ['#a-change-is-refused'], command: 'run the command' },
    {
      why: 'a refused change, in general',
      path: ['#a-change-is-refused', '#set-a-policy-to-mode-audit'],
      command: 'kubectl patch taintpolicy',
    },
    {
      why: 'a controller whose changes are refused',
      path: ['#a-change-is-refused', '#exempt-a-controller'],
      command: '/spec/exempt/users/-',
    },
    { why: 'a taint that was removed on purpose', path: ['#a-node-lost-its-taint'], command: 'on purpose' },
    { why: 'a lost taint: the nodes', path: ['#a-node-lost-its-taint'], command: 'KEPT-OFF' },
    { why: 'a lost taint: no more pods', path: ['#a-node-lost-its-taint'], command: 'kubectl cordon' },
    { why: 'a lost taint', path: ['#a-node-lost-its-taint'], command: 'kubectl taint node' },
    { why: 'pods that do not belong there', path: ['#a-node-lost-its-taint'], command: 'kubectl get pods' },
    { why: 'no CNI: the DaemonSet', path: ['#a-new-node-stays-notready'], command: 'kubectl get daemonsets' },
    { why: 'no CNI: an operator', path: ['#a-new-node-stays-notready'], command: 'taintkeeper coverage fix' },
    {
      why: 'no CNI: the toleration',
      path: ['#a-new-node-stays-notready', '#add-the-toleration'],
      command: '/spec/template/spec/tolerations/-',
    },
    {
      why: 'no CNI: refused pods',
      path: ['#a-new-node-stays-notready', '#let-refused-daemon-pods-pass'],
      command: 'retried-at',
    },
    { why: 'daemon pods after reboots', path: ['#daemon-pods-stay-failed'], command: 'delete pods' },
    { why: 'a startup taint', path: ['#a-node-keeps-a-startup-taint'], command: 'taintkeeper explain node' },
    { why: 'a startup taint, now', path: ['#a-node-keeps-a-startup-taint'], command: 'kubectl taint node' },
    { why: 'x509, or a restored etcd', path: ['#the-webhook-does-not-answer'], command: 'rollout restart' },
    { why: 'a worker of Talos', path: [TALOS], command: 'kubectl taint node' },
    { why: 'an upgrade that hangs', path: [UPGRADE], command: 'kubectl -n taintkeeper get pods' },
    { why: 'an upgrade that hangs: back', path: [UPGRADE], command: 'helm rollback' },
    { why: 'the leader must stop', path: ['#stop-the-leader'], command: 'kubectl -n taintkeeper patch deployment' },
  ])('$why', ({ path, command }) => {
    let [count, file, begin] = [0, 'on-call.md', 0];
    // The reader stops at the link, and goes on at its heading.
    for (const target of path) {
      const text = read(`docs/${file}`);
      const link = text.indexOf(`](${target})`, begin);
      expect(link, target).toBeGreaterThanOrEqual(0);
      count += words(text.slice(begin, link));
      const [, other = '', anchor = ''] = /^(.*)#(.*)$/.exec(target) ?? [];
      file = other === '' ? file : other;
      begin = headingAt(read(`docs/${file}`), anchor);
      expect(begin, target).toBeGreaterThanOrEqual(0);
    }
    const text = read(`docs/${file}`);
    const end = text.indexOf(command, begin);
    expect(end, command).toBeGreaterThanOrEqual(0);
    expect(count + words(text.slice(begin, end))).toBeLessThanOrEqual(200);
  });
});

/** Where the heading with this anchor is; -1 without one. */
function headingAt(text: string, anchor: string): number {
  const heading = [...text.matchAll(/^##+ (.*)$/gm)].find(
    ([, title = '']) => title.toLowerCase().replaceAll(' ', '-') === anchor,
  );
  return heading?.index ?? -1;
}
