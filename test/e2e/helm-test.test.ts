import { afterAll, beforeAll, expect, it } from 'vitest';
import { renderChart } from '../../scripts/chart.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { runTool } from '../control-plane/run-tool.ts';
import { createWorkspace, type Workspace } from '../control-plane/workspace.ts';
import { type Installation, install, readCertificates } from './installation.ts';
import { objectsOf } from './kubernetes-objects.ts';

const TIMEOUT_MS = 30_000;

/** There is no cluster DNS. */
const NO_DNS = `const dns = require('node:dns');
const { lookup } = dns;
dns.lookup = (name, options, callback) =>
  name === '127.0.0.1' ? lookup(name, options, callback) : callback(new Error(\`no name is known: \${name}\`));
`;

interface TestPod {
  readonly containers: readonly { readonly command: readonly string[]; readonly env: readonly Variable[] }[];
}

interface Variable {
  readonly name: string;
  readonly value: string;
}

describeWithControlPlane("what the chart's `helm test` runs in its pod", { helm: true }, (cp) => {
  let installation: Installation;
  let workspace: Workspace;
  let pod: TestPod;

  beforeAll(async () => {
    workspace = createWorkspace('helm-test');
    pod = objectsOf(await renderChart()).find(({ kind }) => kind === 'Pod')?.spec as TestPod;
    installation = await install(cp());
    await installation.start(['a']);
    const { data } = await readCertificates(cp());
    workspace.write('ca.crt', Buffer.from(data['ca.crt'], 'base64').toString());
    workspace.write('dns.cjs', NO_DNS);
  });
  afterAll(async () => {
    await installation.stop();
    workspace.remove();
  });

  /** The command in the pod's environment, with the Service at another port. */
  async function ask(
    changes: Readonly<Record<string, string>> = {},
    changed: (text: string) => string = (text) => text,
  ) {
    const [
      {
        command: [, ...args],
        env,
      },
    ] = pod.containers as [TestPod['containers'][number]];
    const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    // As the kubelet sets them for each Service of the namespace.
    const links = { TAINTKEEPER_SERVICE_HOST: '127.0.0.1', TAINTKEEPER_SERVICE_PORT: String(installation.proxy.port) };
    return runTool(process.execPath, ['--require', workspace.path('dns.cjs'), ...args.map(changed)], {
      env: { ...variables, ...links, NODE_EXTRA_CA_CERTS: workspace.path('ca.crt'), ...changes },
    });
  }

  it('succeeds when a replica answers over the Service, without DNS', async () => {
    await expect
      .poll(() => ask(), { timeout: TIMEOUT_MS })
      .toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^https:\/\/taintkeeper\.taintkeeper\.svc at 127\.0\.0\.1 port \d+: answers\n$/),
      });
  });

  it('fails for a name that the certificate is not for', async () => {
    const answer = await ask({ NAME: 'other.taintkeeper.svc' });
    expect(answer).toMatchObject({ code: 1, stdout: expect.stringContaining('does not answer: ') });
  });

  it('fails when something else answers', async () => {
    const answer = await ask({}, (text) => text.replace("'/validate'", "'/nothing'"));
    expect(answer).toMatchObject({ code: 1, stdout: expect.stringContaining('answered 404') });
  });
});
