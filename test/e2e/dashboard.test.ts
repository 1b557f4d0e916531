import { once } from 'node:events';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { COMMAND_RIGHTS } from '../../src/cli/command-rights.ts';
import type { ShownExplanation } from '../../src/page/explanations.ts';
import type { PageState } from '../../src/page/state.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { launch } from '../control-plane/process.ts';
import { PROGRAM } from '../control-plane/program.ts';
import { NAMESPACE } from '../control-plane/replicas.ts';
import { admin, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { openStream } from '../unit/page/streams.ts';
import { type Installation, leaderOf, waitUntilProtected } from './installation.ts';
import { installWithGpuPool } from './installation-with-gpu-pool.ts';
import { startForwardingKubelet } from './port-forwarding-kubelet.ts';
import { runAs } from './run-taintkeeper.ts';

const SEEN_WITHIN_MS = 20_000;

/** A user with the rights that docs/reference/cli-rights.md lists, and no others. */
const operator: User = { name: 'operator@example.com', groups: [] };

describeWithControlPlane('the dashboard of a real installation', {}, (cp) => {
  let installation: Installation;
  let kubelet: Awaited<ReturnType<typeof startForwardingKubelet>>;
  let url: string;

  beforeAll(async () => {
    installation = await installWithGpuPool(cp());
    await waitUntilProtected(cp(), 'cp-1');
    const role = JSON.stringify({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'taintkeeper-dashboard', namespace: NAMESPACE },
      rules: COMMAND_RIGHTS.dashboard.inNamespace,
    });
    expect(await cp().kubectl(['apply', '-f', '-'], { input: role })).toMatchObject({ code: 0, stderr: '' });
    const args = ['--role=taintkeeper-dashboard', `--user=${operator.name}`, '-n', NAMESPACE];
    expect(await cp().kubectl(['create', 'rolebinding', 'operator', ...args])).toMatchObject({ code: 0 });
    const pods = [...installation.replicas.values()].map(({ name, adminUrl }) => ({
      name,
      port: 8080,
      target: Number(new URL(adminUrl).port),
    }));
    kubelet = await startForwardingKubelet(cp(), NAMESPACE, pods);
    url = await runDashboard(await cp().kubeconfigFile(operator));
  });
  afterAll(async () => {
    await endDashboard();
    await kubelet?.stop();
    await installation.stop();
  });

  /** The state once it is as expected. */
  async function stateWith(expected: (state: PageState) => boolean): Promise<PageState> {
    let last: PageState | undefined;
    return waitUntil(
      async () => {
        // A connection to a leader that has ended is cut.
        const answer = await fetch(`${url}api/state`).catch(() => undefined);
        last = answer?.ok ? ((await answer.json()) as PageState) : undefined;
        return last && expected(last) ? last : undefined;
      },
      { timeoutMs: SEEN_WITHIN_MS, otherwise: () => `the state is ${JSON.stringify(last)}` },
    );
  }

  const cellsOf = ({ nodes }: PageState, name: string) => nodes?.rows.find((row) => row.name === name)?.cells;

  it('has what only the leader knows, and what is registered', async () => {
    const state = await stateWith(
      (state) =>
        cellsOf(state, 'gpu-1') === 'aam' && state.policies.every(({ conditions }) => conditions[0]?.status === 'True'),
    );
    expect(state.leader).toEqual({ isThis: true, name: await leaderOf(cp()) });
    expect(state.nodes?.columns.map(({ policy, taint }) => `${policy} ${taint}`)).toEqual([
      'control-plane-taints node-role.kubernetes.io/control-plane',
      'control-plane-taints node-role.kubernetes.io/master',
      'gpu-pool dedicated=gpu:NoSchedule',
    ]);
    expect(state.policies.find(({ name }) => name === 'gpu-pool')).toMatchObject({ valid: true, mode: 'Audit' });
    expect(state.webhooks.length).toBeGreaterThan(0);
    expect(state.webhooks.filter(({ trusted }) => !trusted)).toEqual([]);
    expect(state.webhooks.map(({ name }) => name)).toContain('protect.taintkeeper.dev');
    expect(Date.parse(state.certificate?.notAfter ?? '')).toBeGreaterThan(Date.now());
  });

  it('shows a node whose missing taint a user added, and says so at once', async () => {
    const stream = await openStream(`${url}api/events`);
    expect((await stream.next()).type).toBe('state');
    await cp().kubectl(['taint', 'node', 'gpu-1', 'dedicated=gpu:NoSchedule']);
    expect(await stream.next()).toMatchObject({ type: 'state' });
    await stateWith((state) => cellsOf(state, 'gpu-1') === 'aau');
  });

  it('is refused by any name that others can own', async () => {
    const { hostname, port } = new URL(url);
    const answer = await statusOf({ hostname, port, headers: { host: `taintkeeper.example.com:${port}` } });
    expect(answer).toBe(403);
  });

  it('explains a node as the command line does', async () => {
    const answer = await fetch(`${url}api/explain/node/cp-1`);
    expect(answer.status).toBe(200);
    const { sections, next } = (await answer.json()) as ShownExplanation;
    const texts = sections.flatMap((section): readonly string[] =>
      'lines' in section
        ? section.lines
        : section.rows.map((row) =>
            row.map((cell) => (typeof cell === 'string' ? cell : 'text' in cell ? cell.text : '')).join(' '),
          ),
    );
    const { stdout } = await runAs(admin, cp(), ['explain', 'node', 'cp-1']);
    // All but what each cannot know.
    const shared = texts.filter((text) => !text.startsWith('note: '));
    for (const text of shared) expect(stdout.replace(/ +/g, ' ')).toContain(text);
    expect(shared).toContainEqual(
      expect.stringMatching(/^node-role\.kubernetes\.io\/control-plane:NoSchedule protected /),
    );
    expect(next).toEqual({ note: 'nothing: no required taint is missing' });
    expect((await fetch(`${url}api/explain/node/none`)).status).toBe(404);
  });

  it('follows another leader when the one it showed ends', async () => {
    const before = await leaderOf(cp());
    await installation.replica(before).stop();
    installation.replicas.delete(before);
    const state = await stateWith((state) => state.leader.isThis && state.nodes !== undefined);
    expect(state.replica).not.toBe(before);
    expect(cellsOf(state, 'gpu-1')).toBe('aau');
  });
});

let endDashboard: () => Promise<void> = async () => {};

/** Runs `taintkeeper dashboard`, until `endDashboard`. Returns its URL. */
async function runDashboard(kubeconfig: string): Promise<string> {
  const workspace = createWorkspace('dashboard');
  const child = await launch(
    'dashboard',
    process.execPath,
    [PROGRAM, 'dashboard', '--no-open', '--namespace', NAMESPACE, '--kubeconfig', kubeconfig],
    { logFile: workspace.logFile('dashboard') },
  );
  endDashboard = async () => {
    await child.stop(1_000);
    workspace.remove();
  };
  return waitUntil(() => /^http:\/\/127\.0\.0\.1:\d+\/$/m.exec(child.log())?.[0], {
    timeoutMs: SEEN_WITHIN_MS,
    otherwise: () => child.failure('did not start').message,
  });
}

async function statusOf(options: RequestOptions): Promise<number | undefined> {
  const outgoing = request(options).end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}
