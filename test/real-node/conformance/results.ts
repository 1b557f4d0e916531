/** The outcome of one spec of Kubernetes' end-to-end tests. */
export interface SpecResult {
  /** The container that the spec belongs to, such as `[sig-apps] Daemon set [Serial]`. */
  readonly group: string;
  /** Without the group's text. */
  readonly name: string;
  /** Ginkgo's word: `passed`, `failed`, `timedout`, `panicked`, or `skipped` by the spec itself. */
  readonly state: string;
  readonly seconds: number;
  /** Why it failed or skipped itself. */
  readonly message: string;
}

/** A part of Ginkgo's JSON report. */
interface GinkgoReport {
  readonly SpecReports: readonly {
    readonly ContainerHierarchyTexts: readonly string[] | null;
    readonly LeafNodeType: string;
    readonly LeafNodeText: string;
    readonly State: string;
    readonly NumAttempts: number;
    /** In nanoseconds. */
    readonly RunTime: number;
    readonly Failure?: { readonly Message?: string };
  }[];
}

/** The specs that ran, by name. A spec that the filter left out has no attempt. A suite's own node counts only if it failed. */
export function parseReport(json: string): SpecResult[] {
  const reports = JSON.parse(json) as GinkgoReport[];
  return reports
    .flatMap(({ SpecReports }) => SpecReports)
    .filter(({ LeafNodeType, NumAttempts, State }) =>
      LeafNodeType === 'It' ? NumAttempts > 0 : State !== 'passed' && State !== 'skipped',
    )
    .map(({ ContainerHierarchyTexts, LeafNodeType, LeafNodeText, State, RunTime, Failure }) => {
      const [group = LeafNodeType, ...inner] = ContainerHierarchyTexts ?? [];
      return {
        group,
        name: [...inner, LeafNodeText].join(' ').trim(),
        state: State,
        seconds: RunTime / 1e9,
        message: Failure?.Message ?? '',
      };
    })
    .toSorted((a, b) => compareText(a.group, b.group) || compareText(a.name, b.name));
}

/** What one spec resulted in with each setting, in the order of the settings; `not run` where it did not run. */
export interface ComparedSpec {
  readonly group: string;
  readonly name: string;
  readonly states: readonly string[];
}

/** @param runs the results with each setting */
export function compareRuns(runs: readonly (readonly SpecResult[])[]): ComparedSpec[] {
  const key = ({ group, name }: Pick<SpecResult, 'group' | 'name'>) => `${group}\0${name}`;
  const states = runs.map((run) => new Map(run.map((result) => [key(result), result.state])));
  const all = new Map(runs.flat().map((result) => [key(result), result]));
  return [...all.values()]
    .map(({ group, name }) => ({
      group,
      name,
      states: states.map((ofRun) => ofRun.get(key({ group, name })) ?? 'not run'),
    }))
    .toSorted((a, b) => compareText(a.group, b.group) || compareText(a.name, b.name));
}

export function differs({ states }: ComparedSpec): boolean {
  return new Set(states).size > 1;
}

/** Whether the spec neither passed with any setting nor skipped itself. */
export function failsEverywhere({ states }: ComparedSpec): boolean {
  return states.every((state) => state !== 'passed' && state !== 'skipped');
}

/** For each group how many specs it has, and how many of them passed with each setting. */
export function summarizeGroups(specs: readonly ComparedSpec[]): { group: string; specs: number; passed: number[] }[] {
  const groups = Map.groupBy(specs, ({ group }) => group);
  return [...groups].map(([group, members]) => ({
    group,
    specs: members.length,
    passed: (members[0]?.states ?? []).map(
      (_, index) => members.filter((one) => one.states[index] === 'passed').length,
    ),
  }));
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
