// @ts-check
/** @import { NodeColumn, NodeNote, PolicyState } from '../state.ts' */

/**
 * What to do about a problem.
 * @typedef {object} Fix
 * @property {string} command to be pasted into a shell
 * @property {string} note what one should know before; may be empty
 */

/** A command for more nodes would be too long to read. */
export const MAX_NODES = 100;

/** The characters of names and taints of Kubernetes. A command has no others. */
const HARMLESS = /^[\w./=:-]+$/;

/**
 * @param {Pick<NodeColumn, 'mode' | 'trial'> | undefined} column
 */
function whyNotByMode(column) {
  if (column?.trial === 'Restore') return 'only --audit keeps it from being restored';
  const mode = column?.trial ?? column?.mode;
  return mode === 'Deny' ? 'mode Deny restores only required taints' : `mode ${mode} restores nothing`;
}

/**
 * Why a taint is not restored.
 * @param {NodeNote['blockedBy']} blockedBy
 * @param {Pick<NodeColumn, 'mode' | 'trial'> | undefined} column of the policy that requires it
 */
export function whyNot(blockedBy, column) {
  switch (blockedBy) {
    case undefined:
      return 'about to be set';
    case 'ModeDoesNotRestore':
      return whyNotByMode(column);
    case 'WouldEvictPods':
      return 'not set, because it would evict pods: a node gets it only when it registers';
    case 'OtherValuePresent':
      return 'not set, because another policy protects the value that it carries';
    case 'ValuesDiffer':
      return 'not set, because policies require different values of it';
    case 'Conflict':
      return 'another writer removes it repeatedly, so it is not set for now';
  }
}

/**
 * What to do about nodes that all lack a taint for the same reason.
 *
 * @param {readonly string[]} nodes by name
 * @param {NodeNote} note what they lack; `carries` where one of them has another value
 * @returns {Fix | undefined} undefined if taintkeeper is about to restore it
 */
export function taintFix(nodes, { taint, carries, blockedBy }) {
  const [first = ''] = nodes;
  switch (blockedBy) {
    case undefined:
      return undefined;
    case 'Conflict':
      return fix(
        ['kubectl', 'get', 'events', '--all-namespaces', '--field-selector', 'reason=TaintConflict'],
        'Says who removes it.',
      );
    case 'ValuesDiffer':
    case 'OtherValuePresent':
      return fix(['taintkeeper', 'explain', 'node', first], 'Says which policies contradict each other.');
    case 'ModeDoesNotRestore':
    case 'WouldEvictPods': {
      const evicts = taint.endsWith(':NoExecute') ? 'Evicts the pods there that do not tolerate it. ' : '';
      const some = nodes.length > MAX_NODES ? `Of ${nodes.length} nodes, the first ${MAX_NODES}.` : '';
      const overwrite = carries === undefined ? [] : ['--overwrite'];
      return fix(
        ['kubectl', 'taint', ...overwrite, 'node', ...nodes.slice(0, MAX_NODES), taint],
        `${evicts}${some}`.trimEnd(),
      );
    }
  }
}

/**
 * @param {'node' | 'daemonset' | 'pod'} kind
 * @param {string} name or `NAMESPACE/NAME`
 * @returns {Fix | undefined}
 */
export const explain = (kind, name) => fix(['taintkeeper', 'explain', kind, name], '');

/** @returns {Fix} the command that finds problems of the installation */
export const doctor = () => ({ command: 'taintkeeper doctor', note: '' });

/**
 * @param {Pick<PolicyState, 'kind' | 'name'>} policy
 * @returns {Fix | undefined}
 */
export const editPolicy = ({ kind, name }) => fix(['kubectl', 'edit', kind.toLowerCase(), name], '');

/**
 * What to do about DaemonSets that lack the tolerations of a policy.
 * @param {Pick<PolicyState, 'kind' | 'name' | 'mode' | 'spec'>} policy
 * @returns {Fix | undefined} undefined if taintkeeper patches them already, or must not
 */
export function patchExisting({ kind, name, mode, spec }) {
  if (kind !== 'TolerationPolicy' || mode !== 'Mutate' || /^existing: Patch$/m.test(spec) || !HARMLESS.test(name)) {
    return undefined;
  }
  return {
    command: `kubectl patch tolerationpolicy ${name} --type merge --patch '{"spec":{"existing":"Patch"}}'`,
    note: 'Restarts the pods of these DaemonSets, one DaemonSet after the other.',
  };
}

/** @returns {Fix} the command that shows the taints that keep DaemonSets off */
export const listGaps = () => ({ command: 'taintkeeper coverage --gaps', note: 'Says which taints keep each off.' });

/**
 * @param {readonly { readonly namespace: string; readonly name: string }[]} found
 * @returns {Fix | undefined} the command that shows why their pods are not available
 */
export function describeDaemonSets(found) {
  const [first] = found;
  return found.length === 1 && first
    ? fix(['kubectl', 'describe', 'daemonset', '--namespace', first.namespace, first.name], '')
    : fix(['kubectl', 'get', 'daemonsets', '--all-namespaces'], '');
}

/**
 * The command for a policy that lets a DaemonSet tolerate the taints that keep it off.
 *
 * @param {{ readonly namespace: string; readonly name: string }} daemonSet
 * @param {readonly string[]} keys of those taints
 * @returns {Fix | undefined}
 */
export function tolerate({ namespace, name }, keys) {
  const taints = keys.flatMap((key) => ['--taint', key]);
  return fix(
    ['taintkeeper', 'coverage', 'fix', '--namespace', namespace, '--daemonset', name, ...taints],
    'Prints the policy that lets it run there. If it is meant so, annotate it with taintkeeper.dev/ignore=true.',
  );
}

/**
 * @param {readonly string[]} words
 * @param {string} note
 * @returns {Fix | undefined} undefined if a word has characters that are special in a shell
 */
function fix(words, note) {
  return words.every((word) => HARMLESS.test(word)) ? { command: words.join(' '), note } : undefined;
}
