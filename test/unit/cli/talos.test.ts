import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { manifest } from '../policy/policies.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { run, runWithInput } from './run-command.ts';

const EXAMPLES = join(import.meta.dirname, '..', '..', '..', 'examples', 'talos');
const example = (name: string) => join(EXAMPLES, name);

const directory = mkdtempSync(join(tmpdir(), 'taintkeeper-talos-'));
afterAll(() => rmSync(directory, { recursive: true }));
const write = (name: string, text: string): string => {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
};

describe('talos policies', () => {
  it('says in JSON what kubectl takes, and on stderr what is left out', async () => {
    const { code, stdout, stderr } = await run(
      'talos',
      'policies',
      example('gpu-registration.yaml'),
      '-o',
      'json',
      '--mode',
      'Deny',
    );
    expect({ code, manifest: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      manifest: { kind: 'TaintPolicy', spec: { mode: 'Deny' } },
    });
    expect(stderr).toMatch(
      /^taintkeeper: left out: node.cilium.io\/agent-not-ready=true:NoExecute \(.*gpu-registration.yaml:10:11\)/,
    );
  });

  it.each([
    {
      what: 'a taint that is none',
      files: ['machine: {nodeTaints: {dedicated: "gpu:Never"}}'],
      args: [],
      fault: /0\.yaml:1:\d+: "Never" is no effect/,
    },
    {
      what: 'faults in every file, at once',
      files: ['machine: {nodeTaints: {a: Never}}', 'machine: {nodeTaints: {b: Never}}'],
      args: [],
      fault: /0\.yaml:1:\d+: .*\n.*1\.yaml:1:\d+: /,
    },
    {
      what: 'a selector that is none',
      files: ['machine: {nodeTaints: {a: NoSchedule}}'],
      args: ['-l', 'a=b=c'],
      fault: /a=b=c/,
    },
  ])('refuses $what', async ({ files, args, fault }) => {
    const paths = files.map((text, index) => write(`${index}.yaml`, text));
    const { code, stdout, stderr } = await run('talos', 'policies', ...paths, ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(fault);
  });
});

it('talos policies and drift take files and directories as kubectl does', async () => {
  const directory = temporaryDirectory();
  writeFileSync(
    join(directory, 'gpu.yaml'),
    'machine: {type: worker, nodeLabels: {pool: gpu}, nodeTaints: {a: NoSchedule}}',
  );
  const { code, stdout } = await run('talos', 'policies', '-f', directory);
  expect(code).toBe(0);
  expect(stdout).toContain('kind: TaintPolicy');
  expect(await run('talos', 'policies', directory)).toMatchObject({ stdout });
  const empty = temporaryDirectory();
  expect(await run('talos', 'policies', empty)).toMatchObject({
    code: 2,
    stderr: `taintkeeper: ${empty}: no YAML or JSON file in it\n`,
  });
  expect(await run('talos', 'policies')).toMatchObject({
    code: 2,
    stderr: 'taintkeeper: no input files: pass FILE… or - for standard input\n',
  });
  const { stdout: drift } = await run('talos', 'drift', '-f', example('gpu.yaml'), '--nodes', example('nodes.yaml'));
  expect(drift).toContain('gpu');
});

describe('talos policies, of files that declare no taint,', () => {
  it.each([
    {
      format: 'yaml',
      printed: (file: string) => `# ${file}: no taint for a policy to keep is declared\n`,
      said: () => '',
    },
    {
      format: 'json',
      printed: () => `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [] }, null, 2)}\n`,
      said: (file: string) => `taintkeeper: ${file}: no taint for a policy to keep is declared\n`,
    },
  ])('says so in $format, and ends with 0', async ({ format, printed, said }) => {
    const file = write('worker.yaml', 'machine: {type: worker}');
    expect(await run('talos', 'policies', file, '-o', format)).toEqual({
      code: 0,
      stdout: printed(file),
      stderr: said(file),
    });
  });
});

describe('talos policies, of taints that are not for a policy to keep,', () => {
  const STARTUP = 'node.cilium.io/agent-not-ready=true:NoExecute';
  const registering = (name: string, taints: string) =>
    write(name, `machine: {type: worker, kubelet: {extraArgs: {register-with-taints: "${taints}"}}}`);

  it('names each taint that it leaves out, and who removes it', async () => {
    const file = registering('startup.yaml', `${STARTUP},karpenter.sh/unregistered:NoExecute`);
    const { code, stdout } = await run('talos', 'policies', file);
    expect({ code, lines: stdout.split('\n') }).toEqual({
      code: 0,
      lines: [
        expect.stringContaining('no taint for a policy to keep is declared'),
        `# Left out: ${STARTUP} (${file}:1:47), which Cilium's operator removes: a policy would restore it`,
        `# Left out: karpenter.sh/unregistered:NoExecute (${file}:1:47), which Karpenter removes: a policy would restore it`,
        '',
      ],
    });
  });

  it('names them also beside the policies of other files, in each format', async () => {
    const files = [registering('startup.yaml', STARTUP), example('gpu.yaml')];
    const { stdout } = await run('talos', 'policies', ...files);
    expect(stdout).toMatch(/^# Left out: node\.cilium\.io\/agent-not-ready=true:NoExecute .*\n# Declared in /);
    const { stderr } = await run('talos', 'policies', ...files, '-o', 'json');
    expect(stderr).toContain("which Cilium's operator removes");
  });

  it.each([
    { key: 'node.kubernetes.io/instance-type', why: 'a label of Kubernetes that users also set as a taint' },
    { key: 'karpenter.sh/controller', why: 'nodes for Karpenter itself' },
  ])('has a policy for $key: $why', async ({ key }) => {
    const file = write(
      'permanent.yaml',
      `machine: {type: worker, kubelet: {extraArgs: {node-labels: pool=storage, register-with-taints: "${key}=a:NoSchedule"}}}`,
    );
    const { stdout } = await run('talos', 'policies', file);
    expect(parse(stdout)).toMatchObject({ kind: 'TaintPolicy', spec: { taints: [{ key, ensure: 'Always' }] } });
    expect(stdout).not.toContain('Left out');

    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', labels: { pool: 'storage' } } };
    const drift = await run('talos', 'drift', file, '--nodes', write('n.json', JSON.stringify(node)));
    expect(drift).toMatchObject({ code: 1, stdout: expect.stringMatching(`missing +taint ${key}=a:NoSchedule`) });
  });
});

describe('talos drift', () => {
  const nodes = ['--nodes', example('nodes.yaml')];

  it('ends with 0 where all is as declared', async () => {
    const { code, stdout } = await run(
      'talos',
      'drift',
      example('worker.yaml'),
      ...nodes,
      '-l',
      'kubernetes.io/hostname',
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: '1 node compared, 1 as declared\n' });
  });

  it('names workers that have the labels of no file, where some file has labels: theirs may be missing', async () => {
    const [worker, gpu] = [write('w.yaml', 'machine: { type: worker }'), example('gpu.yaml')];
    const file = write('w.json', JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'g' } }));
    expect((await run('talos', 'drift', worker, gpu, '--nodes', file)).stdout).toContain(
      `1 taken for ${worker} by role, having the labels of no other file: g\n`,
    );
    expect((await run('talos', 'drift', worker, '--nodes', file)).stdout).toBe('1 node compared, 1 as declared\n');
  });

  it('ends with 1 where something is not', async () => {
    const { code, stdout } = await run('talos', 'drift', example('gpu.yaml'), ...nodes, '-o', 'json');
    const { nodes: found, notCompared } = JSON.parse(stdout);
    expect(code).toBe(1);
    expect(
      found.map(({ name, findings }: { name: string; findings: { problem: string }[] }) => [
        name,
        ...findings.map(({ problem }) => problem),
      ]),
    ).toEqual([
      ['gpu-1', 'missing'],
      ['gpu-2', 'different', 'different'],
    ]);
    expect(notCompared.map(({ node }: { node: string }) => node)).toEqual(['cp-1', 'worker-1']);
  });

  it('says the same in YAML as in JSON', async () => {
    const args = ['talos', 'drift', example('gpu.yaml'), ...nodes, '-o'];
    const json = await run(...args, 'json');
    const yaml = await run(...args, 'yaml');
    expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout));
  });

  it('says of a command that evicts pods that it does', async () => {
    const declared = 'machine: { type: worker, nodeLabels: { pool: a }, nodeTaints: { out: ":NoExecute" } }';
    const [worker, labels] = [write('out.yaml', declared), { pool: 'a' }];
    const drift = async (taints: object[], ...args: string[]) => {
      const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a', labels }, spec: { taints } };
      const file = write('tainted.json', JSON.stringify(node));
      return (await run('talos', 'drift', worker, '--nodes', file, ...args)).stdout;
    };
    const EVICTS = 'evicts the pods there that do not tolerate it';
    for (const taints of [
      [],
      [{ key: 'out', effect: 'NoSchedule' }],
      [{ key: 'out', value: 'x', effect: 'NoExecute' }],
    ]) {
      expect(await drift(taints)).toContain(`\nTo repair (a NoExecute taint ${EVICTS}):\n  kubectl taint node a out`);
      expect(JSON.parse(await drift(taints, '-o', 'json')).nodes[0].findings).toMatchObject([{ note: EVICTS }]);
    }
    const { stdout } = await run('talos', 'drift', example('gpu.yaml'), ...nodes, '-o', 'yaml');
    expect(stdout).not.toContain('note');
  });

  it('repairs nothing on a worker on the word of its kubelet: the commands for claims are apart', async () => {
    const worker = write('claimed.yaml', 'machine: { type: worker }');
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'w1', annotations: { 'talos.dev/owned-taints': '["quarantine"]' } },
      spec: { taints: [{ key: 'quarantine', effect: 'NoExecute' }] },
    };
    const args = ['talos', 'drift', worker, '--nodes', write('claiming.json', JSON.stringify(node))];
    const { code, stdout } = await run(...args);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^w1 .* claimed +taint quarantine:NoExecute +-$/m);
    expect(stdout).toContain('claimed: only an annotation of the node says that Talos has set it, and a kubelet can');
    expect(stdout).not.toContain('To repair');
    expect(stdout).toContain(
      '\nTo remove what is claimed, if Talos and no other user has set it:\n  kubectl taint node w1 quarantine:NoExecute-\n' +
        '\nTo keep what is claimed, and release it from Talos:\n  kubectl annotate node w1 talos.dev/owned-taints-\n',
    );
    const [{ findings }] = JSON.parse((await run(...args, '-o', 'json')).stdout).nodes;
    expect(findings).toEqual([
      {
        kind: 'taint',
        problem: 'claimed',
        live: 'quarantine:NoExecute',
        claim: {
          removal: 'kubectl taint node w1 quarantine:NoExecute-',
          release: 'kubectl annotate node w1 talos.dev/owned-taints-',
        },
        note: expect.stringMatching(/^only an annotation of the node says.* up to 1\.13 it cannot remove it/),
      },
    ]);
  });

  it('takes --node for it, without naming the file twice', async () => {
    const { stdout } = await run(
      'talos',
      'drift',
      '--node',
      `worker-1=${example('gpu.yaml')}`,
      ...nodes,
      '-l',
      '!pool,kubernetes.io/hostname',
    );
    expect(stdout).toMatch(/^worker-1 .*gpu.yaml +--node +missing +taint dedicated=gpu:NoSchedule/m);
    expect(stdout).toContain('  kubectl label node worker-1 pool=gpu\n');
  });

  it('reads standard input for one thing only', async () => {
    const { code, stderr } = await runWithInput('', 'talos', 'drift', '-', '--nodes', '-');
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('not both: name a file') });
  });

  it('reads the nodes from standard input', async () => {
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'a', labels: { pool: 'gpu' } } });
    const { code, stdout } = await runWithInput(stdin, 'talos', 'drift', example('gpu.yaml'), '--nodes', '-');
    expect({ code, stdout }).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('1 node compared, 0 as declared'),
    });
  });

  it('reads the nodes from a file that has policies, too', async () => {
    const policy = manifest('TaintPolicy', 'gpu', {});
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } };
    const file = write('dump.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [policy, node] }));
    const worker = write('w.yaml', 'machine: { type: worker }');
    const { code, stdout, stderr } = await run('talos', 'drift', worker, '--nodes', file);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '1 node compared, 1 as declared\n', stderr: '' });
  });

  it('names a few of many nodes that it cannot compare', async () => {
    const items = Array.from({ length: 500 }, (_, i) => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `n-${i}`, labels: i === 0 ? { pool: 'gpu' } : {} },
    }));
    const file = write('many.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    const { stdout } = await run('talos', 'drift', example('gpu.yaml'), '--nodes', file);
    expect(stdout).toMatch(/^499 not compared \(.*\): n-1, n-2, n-3, n-4, n-5, and 494 more$/m);
  });

  it('shows names from a file on one line of printable characters', async () => {
    const file = write(
      'odd.yaml',
      JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: "x';\u001b[31m\nrm" } }),
    );
    const { stdout } = await run(
      'talos',
      'drift',
      example('worker.yaml'),
      example('gpu.yaml'),
      '--nodes',
      file,
      '--node',
      `x';\u001b[31m\nrm=${example('gpu.yaml')}`,
    );
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toContain(`kubectl taint node 'x'\\'';\\u{1b}[31m\\u{a}rm' dedicated=gpu:NoSchedule\n`);
  });

  it.each([
    { what: 'no file', args: [], fault: /no input files: pass FILE/ },
    { what: 'a pair that is none', args: ['--node', 'gpu-1'], fault: /--node gpu-1: expected NAME=FILE/ },
    {
      what: 'a node that there is not',
      args: ['--node', `gpu-9=${example('gpu.yaml')}`, ...nodes],
      fault: /there is no node gpu-9/,
    },
    {
      what: 'two files for a node',
      args: ['--node', `gpu-1=${example('gpu.yaml')}`, '--node', `gpu-1=${example('worker.yaml')}`, ...nodes],
      fault: /gpu-1 has a file already/,
    },
    {
      what: 'nodes of which none can be compared',
      args: [example('gpu.yaml'), ...nodes, '-l', 'pool!=gpu'],
      fault: /none of 2 nodes/,
    },
    {
      what: 'a file without nodes',
      args: [example('gpu.yaml'), '--nodes', join(EXAMPLES, '..', 'policies', 'gpu-pool.yaml')],
      fault: /gpu-pool\.yaml: there is no Node in it/,
    },
    {
      what: 'a kubeconfig that is not there',
      args: [example('gpu.yaml'), '--kubeconfig', join(directory, 'none')],
      fault: /none/,
    },
    {
      what: 'a Node that is none',
      args: [
        example('gpu.yaml'),
        '--nodes',
        write('bad.yaml', 'apiVersion: v1\nkind: Node\nmetadata: {name: a}\nspec:\n  taints: 7\n'),
      ],
      fault: /bad\.yaml:5:3/,
    },
  ])('refuses $what', async ({ args, fault }) => {
    const { code, stdout, stderr } = await run('talos', 'drift', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(fault);
  });
});

describe('secrets', () => {
  const CANARY = 'c4n4ry';
  const SECRETS = `machine:
  type: worker
  token: ${CANARY}
  ca: {crt: ${CANARY}, key: ${CANARY}}
  env: {PASSWORD: ${CANARY}}
  files: [{content: ${CANARY}, path: /var/a}]
  registries: {config: {r.example.com: {auth: {password: ${CANARY}}}}}
  kubelet: {extraArgs: {token: ${CANARY}}, extraConfig: {secret: ${CANARY}}}
  nodeAnnotations: {secret: ${CANARY}}
  nodeLabels: {pool: gpu}
  nodeTaints:
    dedicated: gpu:NoSchedule
cluster:
  id: ${CANARY}
  secret: ${CANARY}
  token: ${CANARY}
  aescbcEncryptionSecret: ${CANARY}
  secretboxEncryptionSecret: ${CANARY}
  serviceAccount: {key: ${CANARY}}
  etcd: {ca: {crt: ${CANARY}, key: ${CANARY}}}
  inlineManifests: [{name: a, contents: ${CANARY}}]
---
apiVersion: v1alpha1
kind: DiscoveryIdentityConfig
clusterID: ${CANARY}
clusterSecret: ${CANARY}
`;
  const nodes = ['--nodes', example('nodes.yaml')];

  it.each([
    { what: 'policies as YAML', text: SECRETS, args: ['policies'] },
    { what: 'policies as JSON', text: SECRETS, args: ['policies', '-o', 'json'] },
    { what: 'drift as a table', text: SECRETS, args: ['drift', ...nodes] },
    { what: 'drift as JSON', text: SECRETS, args: ['drift', '-o', 'json', ...nodes] },
    { what: 'drift as YAML', text: SECRETS, args: ['drift', '-o', 'yaml', ...nodes] },
    { what: 'a malformed taint', text: SECRETS.replace('gpu:NoSchedule', 'gpu:Never'), args: ['policies'] },
    {
      what: 'contradicting labels',
      text: SECRETS.replace('kind: DiscoveryIdentityConfig', 'kind: KubeNodeConfig\nlabels: {pool: cpu}'),
      args: ['policies'],
    },
    { what: 'broken YAML', text: `${SECRETS}\n  token: "${CANARY}\n: [`, args: ['policies'] },
    {
      what: 'a YAML key twice',
      text: SECRETS.replace('  id:', `  token: ${CANARY}\n  id:`),
      args: ['drift', ...nodes],
    },
    { what: 'an alias', text: SECRETS.replace('  id:', `  x: *${CANARY}\n  id:`), args: ['drift', ...nodes] },
  ])('never show in $what', async ({ text, args: [command = '', ...args] }) => {
    const { stdout, stderr } = await run('talos', command, write('secret.yaml', text), ...args);
    expect(stdout + stderr).toMatch(/secret\.yaml|talos-pool-gpu/);
    expect(stdout + stderr).not.toContain(CANARY);
  });
});
