import { rolloutCommand } from '../coverage/fix.ts';
import { CONFLICT_EVENTS, EVICTS } from '../judge/blocked.ts';
import { count as counted, shellWord } from '../kubernetes/text.ts';
import { type Harm, harmOfCondition, worstFirst } from '../policy/harm.ts';
import type { PolicyKind } from '../policy/policy.ts';
import { oncePer } from '../runtime/once-per.ts';
import type { Refusals } from './decision-log.ts';
import type { CoverageMatrix, CoverageRow, Fix, NodeMap, NodeNote, PageProblem, PageState, Place } from './state.ts';

/** How many nodes or DaemonSets a problem names. */
const MAX_NAMED = 3;

/** If there are more causes of one kind than this, the last problem counts the rest. */
const MAX_CAUSES = 8;

const DAY_MS = 86_400_000;

/** A problem before it is ranked. */
interface Found {
  readonly harm: Harm;
  /** How many objects it concerns. */
  readonly count?: number;
  readonly text: string;
  readonly place?: Place;
  /** All whom it concerns, by name. Those that are not known by name are empty. */
  readonly names?: readonly string[];
  /** Where one of the names is shown. */
  readonly nameAt?: (name: string) => Place | undefined;
  readonly why?: string | undefined;
  readonly fix?: Fix | undefined;
}

/** What is known besides the nodes and DaemonSets. */
export type Registered = Omit<PageState, 'at' | 'nodes' | 'coverage' | 'problems'>;

/** What only the leader knows. */
export interface Led {
  readonly nodes: NodeMap;
  readonly coverage: CoverageMatrix;
  /** How many nodes are not Ready. */
  readonly unready: number;
}

/**
 * All problems, the worst first.
 * @param refusals of the last hour
 * @param now milliseconds since the epoch
 */
export function pageProblems(
  state: Registered,
  led: Led | undefined,
  refusals: readonly Refusals[],
  now: number,
): PageProblem[] {
  const found = [
    ...checkProblems(state),
    ...trustProblems(state),
    ...certificateProblems(state, now),
    ...refusals.map((one) => refusalProblem(one, state.mode)),
    ...policyProblems(state, led),
    ...(led ? [...nodeProblems(led.nodes), ...coverageProblems(led, state.audit)] : []),
    ...(state.mode === 'cluster' && state.leader.name === undefined && !state.leader.isThis ? [NO_LEADER] : []),
  ];
  return worstFirst(
    found,
    ({ harm }) => harm,
    ({ count = 0 }) => count,
  ).map(shown);
}

/** By the harm: whether something is wrong, needs attention, or ends by itself. */
const LEVELS: Readonly<Record<Harm, PageProblem['level']>> = {
  NodesWithoutDaemons: 'failed',
  NotReachable: 'failed',
  ComponentsDenied: 'failed',
  NotInForce: 'failed',
  Missing: 'failed',
  Conflict: 'attention',
  Stalled: 'attention',
  Reported: 'attention',
  Repairing: 'repairing',
};

function shown({ harm, text, place, names = [], nameAt = () => undefined, why, fix }: Found): PageProblem {
  const named = names.filter((name) => name !== '').slice(0, MAX_NAMED);
  return {
    ...{ harm, level: LEVELS[harm], text },
    ...(place ? { place } : {}),
    names: named.map((name) => {
      const at = nameAt(name);
      return { text: name, ...(at ? { place: at } : {}) };
    }),
    more: names.length - named.length,
    ...(why === undefined ? {} : { why }),
    ...(fix ? { fix } : {}),
  };
}

const number = (value: number) => value.toLocaleString('en');
/** `1 node`, `5,000 nodes`. */
const count = (value: number, one: string) => counted(value, one).replace(String(value), number(value));

const nodeAt = (object: string): Place => ({ tab: 'nodes', object });
const daemonSetAt = (object: string): Place => ({ tab: 'coverage', object });

/** The command that finds problems of the installation. */
const DOCTOR: Fix = { command: 'taintkeeper doctor', note: 'Says why, and the command that repairs it.' };

const NO_LEADER: Found = {
  harm: 'Stalled',
  text: 'No replica leads: nothing is restored except within requests',
  fix: DOCTOR,
};

function checkProblems({ checks, policies, mode }: Registered): Found[] {
  const named = policies.some(({ valid }) => !valid);
  const fix = mode === 'cluster' ? DOCTOR : undefined;
  return checks.flatMap(({ name, state, detail }): Found[] => {
    // Each policy that is not in force is a problem of its own.
    if (state === 'ok' || (name === 'policies' && state === 'degraded' && named)) return [];
    const harm = state !== 'failed' ? 'Stalled' : name === 'policies' ? 'NotInForce' : 'NotReachable';
    const text = `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${detail}`;
    return [{ harm, text, fix, ...(name === 'policies' ? { place: { tab: 'policies' } } : {}) }];
  });
}

function trustProblems({ webhooks }: Registered): Found[] {
  const distrusting = webhooks.filter(({ trusted }) => trusted === false).map(({ name }) => name);
  if (distrusting.length === 0) return [];
  return [
    {
      harm: 'NotReachable',
      count: distrusting.length,
      text: `The API server does not trust the certificate of ${distrusting.length} of ${count(webhooks.length, 'webhook')}`,
      names: distrusting,
      why: 'updates that a policy of mode Deny concerns are refused, and all others pass without taintkeeper',
      fix: DOCTOR,
    },
  ];
}

function certificateProblems({ certificate, checks, mode }: Registered, now: number): Found[] {
  const isListed = checks.some(({ name, state }) => name === 'certificate' && state !== 'ok');
  if (certificate === undefined || isListed) return [];
  if (!certificate.expiresSoon) return [];
  const left = Date.parse(certificate.notAfter) - now;
  const text = left <= 0 ? 'has expired' : `expires in ${count(Math.floor(left / DAY_MS), 'day')}`;
  const fix = mode === 'cluster' ? DOCTOR : undefined;
  return [{ harm: left <= 0 ? 'NotReachable' : 'Stalled', text: `The serving certificate ${text}`, fix }];
}

function refusalProblem({ user, count: times, policies, objects }: Refusals, mode: Registered['mode']): Found {
  const [policy] = policies;
  return {
    harm: 'ComponentsDenied',
    count: times,
    text: `${count(times, 'request')} of ${user} ${times === 1 ? 'was' : 'were'} denied in the last hour`,
    place: { tab: 'decisions', filters: { q: user, show: 'denied' } },
    names: objects,
    ...(mode === 'cluster' ? { nameAt: nodeAt } : {}),
    why: `denied by TaintPolicy ${policies.join(', ')}; a component repeats what is denied`,
    ...(policy === undefined
      ? {}
      : {
          fix: {
            command: `kubectl edit taintpolicy ${shellWord(policy)}`,
            note: 'If it may remove the taint, add it to spec.exempt.users. Otherwise, correct the component.',
          },
        }),
  };
}

function policyProblems({ policies, checks }: Registered, led: Led | undefined): Found[] {
  const read = checks.every(({ name, state }) => name !== 'policies' || state === 'ok');
  if (policies.length === 0 && read) {
    return [{ harm: 'Reported', text: 'There are no policies: nothing is protected', place: { tab: 'policies' } }];
  }
  return policies.flatMap((policy): Found[] => {
    const { kind, name, valid, problems, generationInForce, conditions } = policy;
    const place: Place = { tab: 'policies', object: `${kind}/${name}` };
    const edit: Fix = { command: `kubectl edit ${kind.toLowerCase()} ${shellWord(name)}`, note: '' };
    const unusable: Found[] = valid
      ? []
      : [
          generationInForce === undefined
            ? {
                harm: 'NotInForce',
                text: `${kind} ${name} is not in force: ${problems[0] ?? 'it cannot be read'}`,
                ...{ place, fix: edit },
              }
            : {
                harm: 'Stalled',
                text: `${kind} ${name} cannot be used as it stands, and generation ${generationInForce} stays in force until taintkeeper restarts: ${problems[0]}`,
                ...{ place, fix: edit },
              },
        ];
    const stated = conditions.flatMap((condition): Found[] => {
      const { type, level, word, reason, message, next } = condition;
      // An invalid spec is reported above, and what nodes lack is reported by cause where the nodes are known.
      if (level === 'quiet' || (type === 'Ready' && !valid)) return [];
      const harm = harmOfCondition(condition);
      const isOfNodes = (harm === 'Missing' && reason !== 'RepairRefused') || harm === 'Conflict';
      if (led && kind === 'TaintPolicy' && isOfNodes) return [];
      return [
        {
          harm,
          text: `${kind} ${name} is ${word}: ${message}`,
          ...{ place, why: next },
          ...(level === 'attention' ? {} : { fix: DOCTOR }),
        },
      ];
    });
    return [...unusable, ...stated, ...missingBy(policy, place, led)];
  });
}

/** What the status of a policy says of objects, if the nodes and DaemonSets are not known here. */
function missingBy(policy: Registered['policies'][number], place: Place, led: Led | undefined): Found[] {
  const { kind, name, mode, spec, violating = 0, matched = 0, violators } = policy;
  if (violating === 0 || kind === 'TolerationRestriction') return [];
  const harm = mode === 'Audit' ? 'Reported' : 'Missing';
  const found = { harm, count: violating, place, nameAt: (one: string) => violatorAt(kind, one) } as const;
  // The status names only the first few.
  const withNames = (names: readonly string[]) => [...names, ...Array<string>(violating - violators.length).fill('')];
  const [first] = violators;
  switch (kind) {
    case 'TaintPolicy':
      return led
        ? []
        : [
            {
              ...found,
              text: `TaintPolicy ${name}: taints are missing on ${number(violating)} of ${count(matched, 'node')}`,
              names: withNames(violators),
            },
          ];
    case 'TolerationPolicy': {
      const gaps = new Set(led?.coverage.daemonSets.filter(hasGap).map(nameOf));
      const others = violators.filter((one) => !gaps.has(one));
      const left = violating - (violators.length - others.length);
      if (left === 0) return [];
      return [
        {
          ...found,
          count: left,
          text: `TolerationPolicy ${name}: tolerations are missing on ${number(left)} of ${count(matched, 'DaemonSet')}`,
          names: withNames(others),
          fix: mode === 'Mutate' ? addTolerations(name, others, spec) : undefined,
        },
      ];
    }
    case 'RecoveryPolicy':
      return [
        {
          ...found,
          text: `RecoveryPolicy ${name}: ${count(violating, 'pod')} of DaemonSets ${violating === 1 ? 'is' : 'are'} stuck`,
          names: withNames(violators),
          fix: first === undefined ? undefined : { command: `taintkeeper explain pod ${shellWord(first)}`, note: '' },
        },
      ];
  }
}

/** Where the object is shown; undefined for a pod, which no tab shows. */
function violatorAt(kind: PolicyKind, name: string): Place | undefined {
  if (kind === 'RecoveryPolicy') return undefined;
  return kind === 'TaintPolicy' ? nodeAt(name) : daemonSetAt(name);
}

/** For DaemonSets that no taint keeps off at present. */
function addTolerations(policy: string, daemonSets: readonly string[], spec: string): Fix | undefined {
  const [first, second] = daemonSets;
  if (first !== undefined && second === undefined) {
    const [namespace = '', name = ''] = first.split('/');
    return { command: rolloutCommand({ namespace, name }), note: 'Adds them, and replaces its pods.' };
  }
  if (/^existing: Patch$/m.test(spec)) return DOCTOR;
  return {
    command: `kubectl patch tolerationpolicy ${shellWord(policy)} --type merge --patch '{"spec":{"existing":"Patch"}}'`,
    note: 'Adds them to one DaemonSet after the other, and replaces its pods. It needs the right patchDaemonSets.',
  };
}

/** Nodes that lack a taint by the same field of a policy and for the same reason. */
interface Cause {
  readonly harm: Harm;
  readonly cell: string;
  readonly column: number;
  /** Of the first of them. */
  readonly note: NodeNote;
  /** Whether it is the same taint on each. */
  alike: boolean;
  readonly nodes: string[];
}

/** The cells with a problem: missing, another value, conflict. */
const BAD = /[mdc]/;

/** The map is the same until it is evaluated again, and the state is served more often. */
const nodeProblems = oncePer(({ columns, rows, notes }: NodeMap): readonly Found[] => {
  const causes = new Map<string, Cause>();
  for (const row of rows) {
    let index = 0;
    for (let column = 0; row.notes !== undefined && column < row.cells.length; column++) {
      const cell = row.cells[column] ?? '';
      if (!BAD.test(cell)) continue;
      const note = notes[row.notes[index++] ?? -1];
      if (note === undefined) continue;
      const key = `${cell} ${column} ${note.harm} ${note.blockedBy}`;
      const cause = causes.get(key) ?? { harm: note.harm, cell, column, note, alike: true, nodes: [] };
      causes.set(key, cause);
      cause.alike &&= cause.note.taint === note.taint;
      cause.nodes.push(row.name);
    }
  }
  const { repairing = [], lasting = [] } = Object.groupBy(causes.values(), ({ harm }) =>
    harm === 'Repairing' ? 'repairing' : 'lasting',
  );
  const sorted = worstFirst(
    lasting,
    ({ harm }) => harm,
    ({ nodes }) => nodes.length,
  );
  const left = sorted.slice(MAX_CAUSES);
  const others = [...new Set(left.flatMap(({ nodes }) => nodes))];
  const repaired = [...new Set(repairing.flatMap(({ nodes }) => nodes))];
  return [
    ...sorted.slice(0, MAX_CAUSES).map((cause) => nodeProblem(columns[cause.column], cause)),
    ...left.slice(0, 1).map(
      ({ harm }): Found => ({
        harm,
        text: `${count(others.length, 'node')} for ${count(left.length, 'more reason')}`,
        place: { tab: 'nodes', filters: { show: 'problem' } },
      }),
    ),
    ...(repaired.length === 0
      ? []
      : [
          {
            harm: 'Repairing',
            count: repaired.length,
            text: `${count(repaired.length, 'node')} ${repaired.length === 1 ? 'is' : 'are'} being repaired`,
            place: { tab: 'nodes', filters: { show: 'problem' } },
            names: repaired,
            nameAt: nodeAt,
          } satisfies Found,
        ]),
  ];
});

/** The names of the states in addresses. */
const SHOW: Readonly<Record<string, string>> = { m: 'missing', d: 'another-value', c: 'conflict' };

function nodeProblem(column: NodeMap['columns'][number] | undefined, cause: Cause): Found {
  const { harm, cell, note, alike, nodes } = cause;
  const { policy = '', taint = '' } = column ?? {};
  const what = alike ? note.taint : taint;
  const on = count(nodes.length, 'node');
  return {
    harm,
    count: nodes.length,
    text:
      cell === 'c'
        ? `${what} is missing on ${on}: another writer removes it repeatedly`
        : `${what} ${cell === 'd' ? 'has another value' : 'is missing'} on ${on}`,
    place: { tab: 'nodes', filters: { show: SHOW[cell] ?? 'problem', policy } },
    names: nodes,
    nameAt: nodeAt,
    why: cell === 'c' ? `TaintPolicy ${policy}` : `TaintPolicy ${policy}: ${note.why}`,
    fix: alike ? taintFix(nodes, note) : undefined,
  };
}

/** A command for more nodes would be too long to read. */
const MAX_NODES = 100;

/** What to do about nodes that all lack a taint for the same reason. */
function taintFix(nodes: readonly string[], { taint, carries, blockedBy }: NodeNote): Fix | undefined {
  const [first = ''] = nodes;
  switch (blockedBy) {
    case undefined:
      return undefined;
    case 'Conflict':
      return {
        command: CONFLICT_EVENTS,
        note: 'Says who removes it. Stop that writer.',
      };
    case 'ValuesDiffer':
    case 'OtherValuePresent':
      return {
        command: `taintkeeper explain node ${shellWord(first)}`,
        note: 'Says which policies contradict each other.',
      };
    case 'ModeDoesNotRestore':
    case 'WouldEvictPods': {
      const evicts = taint.endsWith(':NoExecute') ? `, and ${EVICTS}` : '';
      const some = nodes.slice(0, MAX_NODES);
      const on =
        some.length < nodes.length
          ? `the first ${MAX_NODES} of ${number(nodes.length)} nodes`
          : count(nodes.length, 'node');
      const overwrite = carries === undefined ? '' : ' --overwrite';
      return {
        command: `kubectl taint${overwrite} node ${some.map(shellWord).join(' ')} ${shellWord(taint)}`,
        note: `Sets it on ${on}${evicts}.`,
      };
    }
  }
}

const nameOf = ({ namespace, name }: CoverageRow) => `${namespace}/${name}`;
const isKeptOff = ({ keptOff, optsOut }: CoverageRow) => keptOff > 0 && !optsOut;
/** That a pool's own taint keeps a DaemonSet off is mostly intended: the tab shows it, and it is no problem. */
const hasGap = (row: CoverageRow) => isKeptOff(row) && (row.critical === true || row.lacking === true);

function coverageProblems({ coverage: { daemonSets }, unready }: Led, audit: boolean): Found[] {
  const gaps = worstFirst(daemonSets.filter(hasGap), harmOfGap, ({ keptOff }) => keptOff);
  const left = gaps.slice(MAX_CAUSES);
  const {
    rolling = [],
    down = [],
    others = [],
  } = Object.groupBy(
    daemonSets.filter(({ unavailable }) => unavailable > 0),
    (row) => (row.rollingOut ? 'rolling' : row.critical && row.unavailable > unready ? 'down' : 'others'),
  );
  return [
    ...gaps.slice(0, MAX_CAUSES).map((row) => gapProblem(row, audit)),
    ...left.slice(0, 1).map(
      (row): Found => ({
        harm: harmOfGap(row),
        text: `${count(left.length, 'more DaemonSet')} kept off nodes by taints`,
        place: { tab: 'coverage', filters: { show: 'tainted' } },
        fix: LIST_GAPS,
      }),
    ),
    ...halfTolerantProblem(
      daemonSets.filter((row) => isKeptOff(row) && !hasGap(row) && row.halfTolerant),
      audit,
    ),
    ...unavailableProblem('NodesWithoutDaemons', down),
    ...unavailableProblem('Reported', others),
    ...(rolling.length === 0
      ? []
      : [
          {
            harm: 'Repairing',
            count: rolling.length,
            text: `${count(rolling.length, 'DaemonSet')} ${rolling.length === 1 ? 'is' : 'are'} rolling out`,
            place: { tab: 'coverage', filters: { show: 'unavailable' } },
            names: rolling.map(nameOf),
            nameAt: daemonSetAt,
          } satisfies Found,
        ]),
  ];
}

const harmOfGap = ({ critical }: CoverageRow): Harm => (critical ? 'NodesWithoutDaemons' : 'Missing');

function gapProblem(row: CoverageRow, audit: boolean): Found {
  const { runs, keptOff, critical } = row;
  const name = nameOf(row);
  return {
    harm: harmOfGap(row),
    count: keptOff,
    text: `${name} is kept off ${number(keptOff)} of ${count(runs + keptOff, 'node')} by taints`,
    place: daemonSetAt(name),
    why: critical
      ? 'the other pods of these nodes depend on it'
      : 'a TolerationPolicy requires tolerations that it lacks',
    fix: gapFix(row, audit),
  };
}

/** The one remedy of a gap, which `taintkeeper explain` has, too. */
function gapFix({ remedy, keptOff }: CoverageRow, audit: boolean): Fix | undefined {
  if (audit) return { ...LIST_GAPS, note: 'taintkeeper runs with --audit, and adds no toleration.' };
  if (remedy === undefined) return undefined;
  const on = remedy.nodes === keptOff ? `all ${number(keptOff)}` : `${number(remedy.nodes)} of them`;
  return {
    command: remedy.command,
    note: `Lets it run on ${on}, and replaces all of its pods.`,
  };
}

/** DaemonSets that tolerate one of the two names of the control plane's taint, which is rarely intended. */
function halfTolerantProblem(rows: readonly CoverageRow[], audit: boolean): Found[] {
  const [first, second] = rows;
  if (first === undefined) return [];
  const isOne = second === undefined;
  return [
    {
      harm: 'Reported',
      count: rows.length,
      text: `${isOne ? `${nameOf(first)} tolerates` : `${count(rows.length, 'DaemonSet')} tolerate`} one of the two names of the control plane's taint`,
      place: isOne ? daemonSetAt(nameOf(first)) : { tab: 'coverage', filters: { show: 'tainted' } },
      names: isOne ? [] : rows.map(nameOf),
      nameAt: daemonSetAt,
      why: 'kept off nodes',
      fix: isOne ? gapFix(first, audit) : LIST_GAPS,
    },
  ];
}

const LIST_GAPS: Fix = { command: 'taintkeeper coverage --gaps', note: 'Says which taints keep each off.' };

function unavailableProblem(harm: Harm, rows: readonly CoverageRow[]): Found[] {
  const [first, second] = rows;
  if (first === undefined) return [];
  const fix =
    second === undefined
      ? `kubectl describe daemonset --namespace ${shellWord(first.namespace)} ${shellWord(first.name)}`
      : 'kubectl get daemonsets --all-namespaces';
  return [
    {
      harm,
      count: Math.max(...rows.map(({ unavailable }) => unavailable)),
      text:
        second === undefined
          ? `${nameOf(first)} has ${number(first.unavailable)} of ${count(first.desired, 'pod')} unavailable`
          : `${count(rows.length, 'DaemonSet')} have pods unavailable`,
      place: second === undefined ? daemonSetAt(nameOf(first)) : { tab: 'coverage', filters: { show: 'unavailable' } },
      names: second === undefined ? [] : rows.map(nameOf),
      nameAt: daemonSetAt,
      fix: { command: fix, note: '' },
    },
  ];
}
