import { beforeAll, describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../../src/doctor/diagnosis.ts';
import { stopClock } from '../stopped-clock.ts';
import {
  type Api,
  clientPair,
  closedPort,
  configured,
  framed,
  MACHINE_CONFIG,
  outOfTime,
  type Pair,
  type Reply,
  resource,
  servingPair,
  startApid,
  startSilent,
  talosCa,
  talosconfig,
  UNIMPLEMENTED,
  VERSION_RESOURCE,
  versionOnly,
  versionResponse,
} from '../talos/apid.ts';
import { temporaryFile } from '../temporary-directory.ts';
import { run } from './run-command.ts';

let ca: Pair;
let client: Pair;
let serving: Pair;
beforeAll(async () => {
  ca = await talosCa();
  client = await clientPair(ca);
  serving = await servingPair(ca);
});

/** What it says of nodes that were asked; nothing of it may be secret. */
async function asked(text: string, ...args: string[]) {
  const common = ['talos', 'doctor', '--talosconfig', temporaryFile('talosconfig', text), ...args];
  const { stdout, stderr, code } = await run(...common, '-o', 'json');
  expect(stdout + stderr).not.toContain('SECRET');
  const { result, checks } = JSON.parse(stdout) as Diagnosis;
  const said = checks.filter(({ name }) => !/^talosconfig$|^client certificate$|^127\.0\.0\.1:/.test(name));
  return { code, result, checks, said: said.map(({ name, state, evidence }) => `${state} ${name}: ${evidence}`) };
}

const endpoint = (api?: Api) => startApid(serving, ca, api);
const context = (endpoints: readonly string[], rest: object = {}) => talosconfig(endpoints, ca, client, rest);

describe('the version', () => {
  it('of each endpoint, where neither the context nor the user names a node', async () => {
    const { code, said } = await asked(context([await endpoint()]));
    expect({ code, said }).toEqual({ code: 0, said: ['ok version: 127.0.0.1 runs Talos v1.13.2'] });
  });

  it('of nodes of the context that only the endpoint reaches, of which one is silent', async () => {
    const api: Api = (method, node) => {
      // Two other nodes, and the endpoint itself.
      if (node === '10.0.0.7') return { outOfTimeAfter: 3 };
      return versionOnly(node === '10.0.0.6' ? 'v1.12.4' : 'v1.13.2')(method, node);
    };
    const nodes = ['10.0.0.5', '10.0.0.6', '10.0.0.7'];
    const text = context([await endpoint(api)], { nodes });
    stopClock();
    const { code, result, said } = await asked(text);
    expect({ code, result }).toEqual({ code: 1, result: 'network' });
    expect(said).toEqual([
      'ok version: 10.0.0.5 runs Talos v1.13.2 through 127.0.0.1',
      'ok version: 10.0.0.6 runs Talos v1.12.4 through 127.0.0.1',
      expect.stringMatching(
        /^problem 10\.0\.0\.7: 127\.0\.0\.1 does not reach it \(.*timed out\).*port 50000 is closed/,
      ),
      'note version: not all nodes run the same Talos: v1.13.2 on 10.0.0.5, v1.12.4 on 10.0.0.6',
    ]);
  });

  it('of a node that this machine does not reach, and the endpoint does: that is no problems', async () => {
    // Of the machine itself, where nothing listens on that port.
    const { code, checks } = await asked(context([await endpoint()]), '--nodes', '127.9.9.9');
    expect(code).toBe(0);
    expect(checks.find(({ name }) => name === '127.9.9.9:50000')).toMatchObject({
      state: 'ok',
      evidence: expect.stringMatching(/^it answers through 127\.0\.0\.1, though not to this machine \(/),
    });
  });

  it('of a node that only another named node reaches, where the context has no endpoints', async () => {
    const { code, said } = await asked(context([]), '--nodes', `${await endpoint()},127.9.9.9`);
    expect(code).toBe(0);
    expect(said).toContain('ok version: 127.9.9.9 runs Talos v1.13.2 through 127.0.0.1');
  });

  it('of a node that no endpoint reaches: the problem is reported once', async () => {
    const api: Api = (method, node) => (node ? { status: 14, says: 'i/o timeout' } : versionOnly()(method, node));
    const { result, checks } = await asked(context([await endpoint(api)]), '--nodes', '127.9.9.9');
    expect(result).toBe('network');
    expect(checks.filter(({ state }) => state === 'problem').map(({ name }) => name)).toEqual(['127.9.9.9']);
  });

  it('of a machine in maintenance mode, which knows no client and has it as a resource alone', async () => {
    const api: Api = (method) =>
      method === VERSION_RESOURCE ? { message: resource('runtime', 'v1.12.4') } : UNIMPLEMENTED;
    const at = await startApid(await servingPair(await talosCa()), undefined, api);
    const { result, said } = await asked(context([at]));
    expect(result).toBe('configuration');
    expect(said).toEqual(['ok version: 127.0.0.1 runs Talos v1.12.4, in maintenance mode']);
  });

  it.each<{ what: string; api: Api; result: string; says: RegExp }>([
    {
      what: 'that no answer comes',
      api: () => outOfTime('silent'),
      result: 'network',
      says: /^problem 127\.0\.0\.1: Talos' API accepts the connection and does not answer/,
    },
    {
      what: 'an answer that never ends',
      api: () => outOfTime('endless'),
      result: 'network',
      says: /does not answer \(.*timed out/,
    },
    {
      what: 'an answer without end that announces itself',
      api: () => ({ body: framed(Buffer.alloc(100), 2 ** 31) }),
      result: 'network',
      says: /its answer is not one of Talos' API \(message size 2147483648 is larger/,
    },
    {
      what: 'garbage',
      api: () => ({ message: Buffer.from('SECRET'.repeat(50)) }),
      result: 'network',
      says: /its answer is not one of Talos' API/,
    },
    {
      what: 'half an answer',
      api: () => ({ body: framed(Buffer.alloc(3), 9) }),
      result: 'network',
      says: /: it is unavailable: its answer breaks off \(protocol error: incomplete envelope\)/,
    },
    {
      what: 'nothing in the answer',
      api: () => ({ message: Buffer.alloc(0) }),
      result: 'network',
      says: /its answer is not one of Talos' API \(there is nothing in the answer\)/,
    },
    {
      what: 'a backend that is down',
      api: () => ({ status: 14, says: 'connection error: desc = "transport: Error while dialing"' }),
      result: 'network',
      says: /does not answer \(connection error: .*machined does not run/,
    },
    {
      what: 'another service',
      api: () => UNIMPLEMENTED,
      result: 'configuration',
      says: /does not know the call for its version \(unknown service\): this is another service than apid/,
    },
  ])('is not known: $what', async ({ api, result, says }) => {
    stopClock();
    const found = await asked(context([await endpoint(api)]));
    expect({ code: found.code, result: found.result }).toEqual({ code: 1, result });
    expect(found.said).toEqual([expect.stringMatching(says)]);
  });

  it('is not for a role that may not ask', async () => {
    const found = await asked(context([await endpoint(() => ({ status: 7, says: 'not authorized' }))]));
    const { code, result, said } = found;
    expect({ code, result }).toEqual({ code: 2, result: 'unknown' });
    expect(said).toEqual(['skipped version: 127.0.0.1: this role may not ask for the version (not authorized)']);
  });

  it('is not asked for where no server answers, nor where the certificate is wrong', async () => {
    const calls: string[] = [];
    const api: Api = (method) => {
      calls.push(method);
      return UNIMPLEMENTED;
    };
    const stranger = await startApid(await servingPair(ca, undefined, '10.0.0.5'), ca, api);
    const text = context([await startSilent(), stranger]);
    const { said } = await asked(text, '--nodes', '127.0.0.1:1', '--timeout', '1000');
    expect({ calls, said }).toEqual({ calls: [], said: [] });
  });
});

describe('an answer that breaks off', () => {
  const ways: { what: string; broken: Reply }[] = [
    { what: 'before it begins', broken: { cut: 'at once' } },
    { what: 'within its message', broken: { cut: 'within' } },
    { what: 'before its status', broken: { cut: 'before the status' } },
    { what: 'with its connection', broken: { cut: 'connection' } },
  ];

  it.each(ways)('$what is asked for once more', async ({ broken }) => {
    let calls = 0;
    const api: Api = (method, node) => {
      if (node !== undefined) return UNIMPLEMENTED;
      calls++;
      return calls === 1 ? broken : versionOnly()(method, node);
    };
    const { code, said } = await asked(context([await endpoint(api)]));
    expect({ code, calls, said }).toEqual({ code: 0, calls: 2, said: ['ok version: 127.0.0.1 runs Talos v1.13.2'] });
  });

  it.each(ways)('$what, and does so again, is called unavailable', async ({ broken }) => {
    const { code, result, said } = await asked(context([await endpoint(() => broken)]));
    expect({ code, result }).toEqual({ code: 1, result: 'network' });
    expect(said).toEqual([
      expect.stringMatching(
        /^problem 127\.0\.0\.1: it is unavailable: its answer breaks off \(.*\), at the second try as well$/,
      ),
    ]);
  });

  it.each(ways)('$what does not hide the configuration', async ({ broken }) => {
    let calls = 0;
    const api: Api = (method, node) =>
      method === MACHINE_CONFIG && ++calls === 1 ? broken : configured(LIVE)(method, node);
    const { code, said } = await asked(context([await endpoint(api)]), '-f', temporaryFile('worker.yaml', LIVE));
    expect({ code, last: said.at(-1) }).toEqual({ code: 0, last: expect.stringMatching(/nothing to apply$/) });
  });
});

describe('an endpoint that is a worker', () => {
  /** Passes no call on, as a worker. */
  const worker: Api = (method, node) =>
    node === undefined ? versionOnly()(method, node) : { status: 7, says: 'no request forwarding' };
  const REASON = /this endpoint is a worker, which passes no calls on to other nodes \(no request forwarding\)/;

  it('is a problem although it answers, also where the node that was asked for is reached', async () => {
    const [at, node] = [await endpoint(worker), await endpoint()];
    for (const args of [[], ['--nodes', node]]) {
      const { code, result, checks } = await asked(context([at]), ...args);
      expect({ code, result }).toEqual({ code: 1, result: 'configuration' });
      const problems = checks.filter(({ state }) => state === 'problem');
      expect(problems).toMatchObject([
        {
          name: at,
          evidence: expect.stringMatching(REASON),
          remedy: 'talosctl config endpoint IP, with the addresses of control planes',
        },
      ]);
    }
  });

  it('is not the way to other nodes, where another endpoint is a control plane', async () => {
    const at = await endpoint(worker);
    const { code, said, checks } = await asked(context([at, await endpoint()], { nodes: ['10.0.0.5'] }));
    expect(code).toBe(1);
    expect(said).toEqual(['ok version: 10.0.0.5 runs Talos v1.13.2 through 127.0.0.1']);
    expect(checks.filter(({ state }) => state === 'problem').map(({ name }) => name)).toEqual([at]);
  });

  it('is the cause where it is the only way', async () => {
    const at = await endpoint(worker);
    const { code, said, checks } = await asked(context([at], { nodes: ['10.0.0.5'] }));
    expect(code).toBe(1);
    expect(said).toEqual([
      `skipped version: 10.0.0.5: 127.0.0.1 passes no calls on (no request forwarding): see ${at}`,
    ]);
    expect(checks.filter(({ state }) => state === 'problem').map(({ name }) => name)).toEqual([at]);
  });

  it('is none of the problems of a worker that is asked and is no endpoint', async () => {
    const { code } = await asked(context([await endpoint()]), '--nodes', await endpoint(worker));
    expect(code).toBe(0);
  });
});

const LIVE = `
version: v1alpha1
machine:
  type: worker
  token: SECRET
  disks: []
  nodeLabels: { pool: gpu }
  features: { rbac: true }
cluster:
  secret: SECRET
  controlPlane: { endpoint: https://10.0.0.2:6443 }
`;
/** The live one with lines put in behind `machine:`. */
const changed = (...lines: string[]) =>
  LIVE.replace('machine:\n', ['machine:\n', ...lines.map((line) => `  ${line}\n`)].join(''));

describe('a configuration', () => {
  it.each([
    {
      what: 'has what came later',
      tag: 'v1.12.4',
      text: `${LIVE}---\napiVersion: v1alpha1\nkind: KubeNodeConfig\n`,
      says: /^problem .*:14:1: Talos 1\.12 does not have documents of kind KubeNodeConfig, which came with 1\.14: .* \(127\.0\.0\.1 runs Talos 1\.12\)$/,
    },
    {
      what: 'has older beside newer',
      tag: 'v1.15.0-alpha.1',
      text: `${LIVE}---\napiVersion: v1alpha1\nkind: KubeNodeConfig\n`,
      says: /:7:3: beside documents of kind KubeNodeConfig .*, Talos refuses this in the older shape \(127\.0\.0\.1 runs Talos 1\.15\)$/,
    },
    {
      what: 'has what no Talos has',
      tag: 'v1.13.2',
      text: changed('nodeTaint: {}'),
      says: /there is no nodeTaint in machine/,
    },
  ])('that $what is refused', async ({ tag, text, says }) => {
    const path = temporaryFile('worker.yaml', text);
    const { code, result, said } = await asked(context([await endpoint(configured(LIVE, tag))]), '-f', path);
    expect({ code, result }).toEqual({ code: 1, result: 'configuration' });
    expect(said.slice(1)).toEqual([
      expect.stringMatching(says),
      `skipped ${path} on 127.0.0.1: it is refused: see ${path}`,
    ]);
  });

  const whole = changed('ca: { crt: SECRET }');

  it.each([
    { what: 'extraArgs as a list of texts', text: changed('kubelet: { extraArgs: ["--v=2"] }') },
    { what: 'extraArgs as a list of names', text: changed('kubelet: { extraArgs: [{ name: v, value: "2" }] }') },
    { what: 'a nested argument', text: changed('kubelet: { extraArgs: { v: { a: b } } }') },
    { what: 'a protected field of the kubelet', text: changed('kubelet: { extraConfig: { staticPodPath: /x } }') },
    { what: 'an invalid annotation key', text: changed('nodeAnnotations: { "po ol": x }') },
    { what: 'etcd on a worker', text: `${LIVE}  etcd: { advertisedSubnets: [10.0.0.0/8] }\n` },
    { what: 'persist: false', text: `persist: false${LIVE}` },
    { what: 'a whole configuration without a cluster', text: whole.slice(0, whole.indexOf('cluster:')) },
    { what: 'a whole configuration without an endpoint', text: whole.replace(/^ {2}controlPlane: .*\n/m, '') },
  ])('that Talos refuses is not harmless: $what', async ({ text }) => {
    const path = temporaryFile('worker.yaml', text);
    const { code, result, said } = await asked(context([await endpoint(configured(whole))]), '-f', path);
    expect({ code, result }).toEqual({ code: 1, result: 'configuration' });
    expect(said.slice(1)).toEqual([
      expect.stringMatching(/^problem .*refuse.* \(127\.0\.0\.1 runs Talos 1\.13\)$/),
      `skipped ${path} on 127.0.0.1: it is refused: see ${path}`,
    ]);
  });

  const keyed = (type: string) => changed('ca: { crt: SECRET, key: SECRET }').replace('type: worker', `type: ${type}`);

  it.each([
    {
      what: 'from worker to controlplane, of which nothing else was changed',
      live: LIVE,
      text: LIVE.replace('type: worker', 'type: controlplane'),
      says: 'machine.type changes from worker to controlplane. Talos refuses it: a control plane needs machine.ca.key, the key of its CA',
    },
    {
      what: 'from controlplane to worker, of which nothing else was changed',
      live: keyed('controlplane'),
      text: keyed('worker'),
      says: 'machine.type changes from controlplane to worker. Talos refuses it: a worker may not have machine.ca.key, the key of a CA',
    },
    {
      what: 'from controlplane to worker, with the file of another machine',
      live: keyed('controlplane'),
      text: changed('ca: { crt: SECRET }'),
      says: 'machine.type changes from controlplane to worker. Talos does not convert a machine: the state of its earlier role stays on the disk, and the machine may no longer be reachable',
    },
  ])('that changes the role is a problem: $what', async ({ live, text, says }) => {
    const path = temporaryFile('machine.yaml', text);
    const { code, result, said } = await asked(context([await endpoint(configured(live))]), '-f', path);
    expect({ code, result }).toEqual({ code: 1, result: 'configuration' });
    expect(said.at(-1)).toBe(`problem ${path} on 127.0.0.1: ${says}`);
  });

  it('of a machine in maintenance mode is judged, too', async () => {
    const at = await startApid(await servingPair(await talosCa()), undefined, versionOnly('v1.12.4'));
    const { said } = await asked(
      context([at]),
      '-f',
      temporaryFile('w.yaml', `${LIVE}---\napiVersion: v1alpha1\nkind: KubeNodeConfig\n`),
    );
    expect(said[1]).toMatch(/^problem .*does not have documents of kind KubeNodeConfig/);
    const { checks } = await asked(context([at]), '-f', temporaryFile('worker.yaml', LIVE));
    expect(checks.at(-1)).toMatchObject({
      evidence: 'there is no configuration yet',
      remedy: expect.stringMatching(/^talosctl apply-config --insecure .*--cert-fingerprint FINGERPRINT --file /),
    });
  });

  it.each([
    { what: 'that is in force', text: LIVE, tag: 'v1.13.2', says: /^ok .*nothing to apply/ },
    {
      what: 'with the empty registries of talosctl gen config',
      text: changed('registries: {}'),
      tag: 'v1.13.2',
      says: /^ok .*nothing to apply/,
    },
    { what: 'of an older version, which newer ones read', text: LIVE, tag: 'v1.15.0', says: /^ok .*nothing to apply/ },
    {
      what: 'that changes what needs no reboot',
      text: changed('nodeTaints: { dedicated: SECRET:NoSchedule }'),
      tag: 'v1.13.2',
      says: /^note .* on 127\.0\.0\.1: it changes machine\.nodeTaints, without a reboot \(any --mode\)$/,
    },
    {
      what: 'that changes what needs one',
      text: changed('env: { SECRET_TOKEN: SECRET }', 'sysctls: { a: b }'),
      tag: 'v1.13.2',
      says: /^note .*Talos 1\.13 reboots for machine\.env: --mode=auto does so at once.*no-reboot and try are refused$/,
    },
    {
      what: 'for a Talos that never reboots by itself',
      text: changed('env: { SECRET_TOKEN: SECRET }'),
      tag: 'v1.14.1',
      says: /^note .*it changes machine\.env, without a reboot \(--mode=auto, no-reboot, try or staged; reboot is refused\); changes of machine\.env may take effect only at the next reboot$/,
    },
  ])('$what', async ({ text, tag, says }) => {
    const path = temporaryFile('worker.yaml', text);
    const { code, result, said } = await asked(context([await endpoint(configured(LIVE, tag))]), '-f', path);
    expect({ code, result }).toEqual({ code: 0, result: 'healthy' });
    expect(said.at(-1)).toMatch(says);
  });

  it.each<{ what: string; reply: ReturnType<Api>; says: RegExp }>([
    {
      what: 'the role is os:reader',
      reply: { status: 7, says: 'not authorized' },
      says: /this role may not read the configuration, which needs os:admin \(not authorized\)/,
    },
    { what: 'there is none', reply: { status: 5, says: 'does not exist' }, says: /it has no configuration/ },
    { what: 'the call is not known', reply: UNIMPLEMENTED, says: /it does not know the call/ },
    // The version, and whether it passes calls on, are asked for at the same time.
    { what: 'no answer comes', reply: { outOfTimeAfter: 2 }, says: /there is no answer in time/ },
    { what: 'it is no YAML', reply: { message: resource('config', 'a: [SECRET') }, says: /the answer cannot be read/ },
    {
      what: 'it is none of Talos',
      reply: { message: resource('config', 'SECRET: 1') },
      says: /the answer cannot be read/,
    },
    {
      what: 'it is huge',
      reply: { message: resource('config', Buffer.alloc(9 * 1024 * 1024, 'SECRET ')) },
      says: /larger than any configuration/,
    },
  ])('in force is not known, for $what: the version is judged all the same', async ({ reply, says }) => {
    const api: Api = (method) => (method === MACHINE_CONFIG ? reply : { message: versionResponse('v1.13.2') });
    const path = temporaryFile('worker.yaml', LIVE);
    stopClock();
    const { code, result, said } = await asked(context([await endpoint(api)]), '-f', path);
    expect({ code, result }).toEqual({ code: 2, result: 'unknown' });
    expect(said).toEqual([
      'ok version: 127.0.0.1 runs Talos v1.13.2',
      `ok ${path}: 127.0.0.1 runs Talos 1.13, which supports every field in it`,
      expect.stringMatching(says),
    ]);
  });

  it('is read from no node unless a file is given', async () => {
    const calls: string[] = [];
    const api: Api = (method, node) => {
      calls.push(method);
      return versionOnly()(method, node);
    };
    await asked(context([await endpoint(api)]));
    expect([...new Set(calls)]).toEqual(['Version']);
  });

  it('that is a patch, without a reachable node, or for a version of Talos that is not known', async () => {
    const patch = temporaryFile('patch.yaml', 'machine: { nodeLabels: { a: b } }');
    const at = await endpoint(configured(LIVE));
    expect((await asked(context([at]), '-f', patch)).said.at(-1)).toMatch(/^skipped .*it is a patch/);
    const nobody = await asked(context([await closedPort()]), '-f', patch);
    expect(nobody.said).toEqual([expect.stringMatching(/^skipped .*no node can be asked/)]);
    const old = await asked(context([await endpoint(versionOnly('v1.1.0'))]), '-f', patch);
    expect(old.said.at(-1)).toMatch(/taintkeeper does not know Talos v1\.1\.0: it knows 1\.3 to 1\.15/);
    const newer = await asked(
      context([await endpoint(configured(LIVE, 'v1.16.0'))]),
      '-f',
      temporaryFile('w.yaml', LIVE),
    );
    expect(newer.said.slice(1)).toEqual([
      expect.stringMatching(/^note .*runs Talos 1\.16, newer than 1\.15: taintkeeper does not know its new fields/),
      expect.stringMatching(/nothing to apply/),
    ]);
  });
});

/**
 * What servers of Talos' own types have sent: machine.VersionResponse, and cosi.resource.GetResponse of a MachineConfig and of a
 * Version, by grpc-go 1.81.0, pkg/machinery 1.13.9 of siderolabs/talos and the State server of cosi-project/runtime 1.14.1.
 */
const RECORDED = {
  version:
    '0a490a060a0463702d31122b0a0776312e31332e32120861643838323331372208676f312e32362e372a056c696e75783205616d6436341a0e0a056d6574616c12056d6574616c22020801',
  configuration:
    '0ab7010a730a06636f6e666967121f4d616368696e65436f6e666967732e636f6e6669672e74616c6f732e6465761a087631616c70686131220131320772756e6e696e673a0b08ea9b8dd80610a590d741420b08ea9b8dd80610a3ffd5415a180a1374616c6f732e6465762f79616d6c2d7370656312013112400a1a0a186d616368696e653a0a2020747970653a20776f726b65720a12227c0a202020206d616368696e653a0a202020202020747970653a20776f726b65720a',
  resource:
    '0a89010a540a0772756e74696d65121a56657273696f6e732e72756e74696d652e74616c6f732e6465761a0776657273696f6e220131320772756e6e696e673a0b08ea9b8dd80610a7c7dc41420b08ea9b8dd80610f19bdc4112310a10120554616c6f730a0776312e31332e32121d6e616d653a2054616c6f730a76657273696f6e3a2076312e31332e320a',
};

it('reads the bytes of Talos itself', async () => {
  const hex = (text: string) => ({ message: Buffer.from(text, 'hex') });
  const api: Api = (method) => hex(method === MACHINE_CONFIG ? RECORDED.configuration : RECORDED.version);
  const whole = 'machine: { type: worker }\ncluster: { controlPlane: { endpoint: https://10.0.0.2:6443 } }\n';
  const path = temporaryFile('worker.yaml', whole);
  const { said } = await asked(context([await endpoint(api)]), '-f', path);
  expect(said).toEqual([
    'ok version: 127.0.0.1 runs Talos v1.13.2',
    expect.stringMatching(/which supports every field in it$/),
    expect.stringMatching(/it changes cluster, without a reboot /),
  ]);
  const inMaintenance: Api = (method) => (method === VERSION_RESOURCE ? hex(RECORDED.resource) : UNIMPLEMENTED);
  const at = await startApid(await servingPair(await talosCa()), undefined, inMaintenance);
  expect((await asked(context([at]))).said).toEqual([expect.stringContaining('runs Talos v1.13.2, in maintenance')]);
});

it('says in one screen what it costs, and the command', async () => {
  const path = temporaryFile('worker.yaml', changed('env: { SECRET_TOKEN: SECRET }'));
  const config = temporaryFile('talosconfig', context([await endpoint(configured(LIVE))]));
  const { stdout } = await run('talos', 'doctor', '--talosconfig', config, '-f', path);
  expect(stdout.split('\n').slice(1)).toEqual([
    `note: ${path} on 127.0.0.1: Talos 1.13 reboots for machine.env: --mode=auto does so at once, staged waits for the next reboot, no-reboot and try are refused`,
    `  -> talosctl apply-config --nodes 127.0.0.1 --file ${path} --mode=staged`,
    '',
  ]);
});
