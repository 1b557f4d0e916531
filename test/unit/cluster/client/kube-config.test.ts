import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { findConfig, loadConfig, podNamespace } from '../../../../src/cluster/client/kube-config.ts';
import { temporaryDirectory } from '../../temporary-directory.ts';
import { kubeconfigText } from './fake-api.ts';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const POD = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };

/** A directory that has the named files. */
function directoryWith(files: Record<string, string>): string {
  const directory = temporaryDirectory();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(directory, name, '..'), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
  return directory;
}

describe('findConfig', () => {
  it.each([
    {
      why: 'the file that was asked for',
      given: 'given',
      env: { KUBECONFIG: 'HOME/env', ...POD },
      expected: ['given'],
    },
    { why: 'else KUBECONFIG, also in a pod', env: { KUBECONFIG: 'HOME/env', ...POD }, expected: ['HOME/env'] },
    { why: 'of several only those that are there', env: { KUBECONFIG: 'HOME/none:HOME/env' }, expected: ['HOME/env'] },
    { why: 'else the service account', env: POD, expected: undefined },
    { why: 'else the file in the home directory', env: { KUBECONFIG: '' }, expected: ['HOME/.kube/config'] },
  ])('takes $why', ({ given, env, expected }) => {
    const home = directoryWith({ env: '', '.kube/config': '' });
    const placed = Object.fromEntries(
      Object.entries(env).map(([name, value]) => [name, value.replaceAll('HOME', home)]),
    );
    expect(findConfig({ kubeconfig: given }, { env: placed, home, root: '/root' })).toEqual(
      expected
        ? { kind: 'files', files: expected.map((file) => file.replace('HOME', home)) }
        : { kind: 'pod', root: '/root' },
    );
  });

  it('says what to do when there is none', () => {
    expect(() => findConfig({}, { env: {}, home: '/nowhere', root: '' })).toThrow(
      'no cluster: pass --kubeconfig, set KUBECONFIG, create /nowhere/.kube/config, or run in a pod that has a service account',
    );
    expect(() => findConfig({}, { env: { KUBECONFIG: '/no/file' }, home: '/', root: '' })).toThrow(
      'KUBECONFIG=/no/file: there is no such file',
    );
  });
});

it('looks for the context that was asked for in files alone', () => {
  const surroundings = { env: POD, home: '/nowhere', root: '' };
  expect(findConfig({ kubeconfig: 'given', context: 'staging' }, surroundings)).toEqual({
    kind: 'files',
    files: ['given'],
    context: 'staging',
  });
  expect(() => findConfig({ context: 'staging' }, surroundings)).toThrow(
    '--context staging: a service account has none; name a file with --kubeconfig',
  );
});

describe('loadConfig', () => {
  const load = (...texts: string[]) => {
    const directory = directoryWith(Object.fromEntries(texts.map((text, index) => [`config${index}`, text])));
    const files = texts.map((_text, index) => join(directory, `config${index}`));
    return { directory, load: () => loadConfig({ kind: 'files', files }, KubeConfig) };
  };

  it('reads a kubeconfig, its paths relative to it', () => {
    const text = kubeconfigText('https://10.0.0.1:6443/', {
      cluster: { 'certificate-authority': 'ca.crt', 'insecure-skip-tls-verify': false },
      context: { namespace: 'taintkeeper' },
    });
    const { directory, load: loadIt } = load(text);
    const config = loadIt();
    expect(config.getCurrentCluster()).toMatchObject({
      server: 'https://10.0.0.1:6443',
      caFile: join(directory, 'ca.crt'),
    });
    expect(config.getContextObject(config.getCurrentContext())?.namespace).toBe('taintkeeper');
  });

  it.each([
    { command: './plugin', isRelative: true },
    { command: '/usr/bin/plugin', isRelative: false },
    { command: 'plugin', isRelative: false },
  ])('reads the path of an exec plugin relative to the file, as kubectl does: $command', ({ command, isRelative }) => {
    const { directory, load: loadIt } = load(kubeconfigText('https://c', { user: { exec: { command } } }));
    expect(loadIt().getCurrentUser()?.exec?.command).toBe(isRelative ? join(directory, command) : command);
  });

  describe('of a user with tokenFile', () => {
    const loadWith = (user: object, files: Record<string, string> = {}) => {
      const directory = directoryWith({ config: kubeconfigText('https://c', { user }), ...files });
      return loadConfig({ kind: 'files', files: [join(directory, 'config')] }, KubeConfig);
    };
    const sentBy = async (config: KubeConfig) => {
      const headers: Record<string, string> = {};
      await config.applyToHTTPSOptions({ headers });
      return headers.Authorization;
    };
    const tokenFile = 'tokens/current';

    it('sends the token of the file, also beside another token', async () => {
      const config = loadWith({ token: 'the-token', tokenFile }, { [tokenFile]: 'from-file' });
      expect(await sentBy(config)).toBe('Bearer from-file');
    });

    it.each([{}, { [`${tokenFile}/is-a-directory`]: '' }])(
      'sends the other token if the file cannot be read, as client-go does: %j',
      async (files) => {
        expect(await sentBy(loadWith({ token: 'the-token', tokenFile }, files))).toBe('Bearer the-token');
      },
    );

    it('refuses a file that cannot be read if there is no other token', () => {
      expect(() => loadWith({ token: undefined, tokenFile })).toThrow(
        /config: user test: tokenFile .*\/tokens\/current: not found$/,
      );
    });

    it('does not refuse the user of another context', () => {
      const other = JSON.stringify({ users: [{ name: 'other', user: { tokenFile } }] });
      expect(load(other, kubeconfigText('https://c')).load().getCurrentUser()?.token).toBe('the-token');
    });
  });

  it.each<[string, unknown]>([
    ['as-groups', ['system:masters']],
    ['as-uid', '7'],
    ['as-user-extra', { scopes: ['all'] }],
  ])('refuses a user who impersonates with %s, if its context is chosen', (field, value) => {
    const user = { as: 'admin', [field]: value };
    expect(load(kubeconfigText('https://c', { user })).load).toThrow(
      `config0: user test: ${field} is not supported, and without it requests would have other rights than those of kubectl`,
    );
    const other = JSON.stringify({ users: [{ name: 'other', user }] });
    expect(load(other, kubeconfigText('https://c')).load().getCurrentUser()?.token).toBe('the-token');
  });

  it('merges several, of which the first to name a context chooses', () => {
    const clusters = JSON.stringify({ clusters: [{ name: 'c', cluster: { server: 'https://c' } }] });
    const rest = JSON.stringify({
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      users: [{ name: 'u', user: {} }],
      'current-context': 'x',
    });
    expect(load(clusters, rest).load().getCurrentCluster()?.server).toBe('https://c');
    expect(load(rest, clusters, '{"current-context": "y"}').load().getCurrentContext()).toBe('x');
  });

  it('takes clusters, users and contexts of the same name from the first file, as kubectl does', () => {
    const part = (server: string, namespace: string, token: string, more: object = {}) =>
      JSON.stringify({
        clusters: [{ name: 'kubernetes', cluster: { server } }],
        contexts: [{ name: 'admin', context: { cluster: 'kubernetes', user: 'admin', namespace } }],
        users: [{ name: 'admin', user: { token } }],
        ...more,
      });
    const first = part('https://a', 'a', 'a', { 'current-context': '' });
    const { directory } = load(first, part('https://b', 'b', 'b', { 'current-context': 'admin' }));
    const [a, b] = [join(directory, 'config0'), join(directory, 'config1')];
    const config = loadConfig({ kind: 'files', files: [a, a, b] }, KubeConfig);
    expect(config.getCurrentCluster()?.server).toBe('https://a');
    expect(config.getCurrentUser()?.token).toBe('a');
    expect(config.getContexts()).toEqual([{ name: 'admin', cluster: 'kubernetes', user: 'admin', namespace: 'a' }]);
  });

  it.each(['', '# nothing', '---'])('skips a file without content: "%s"', (text) => {
    const config = kubeconfigText('https://c');
    expect(load(text, config).load().getCurrentCluster()?.server).toBe('https://c');
    expect(load(config, text).load().getCurrentCluster()?.server).toBe('https://c');
  });

  it('takes the context that was asked for, and names those that are there', () => {
    const cluster = (name: string) => ({ name, cluster: { server: `https://${name}` } });
    const context = (name: string) => ({ name, context: { cluster: name, user: 'u' } });
    const directory = directoryWith({
      config: JSON.stringify({
        clusters: [cluster('staging'), cluster('production')],
        contexts: [context('staging'), context('production')],
        users: [{ name: 'u', user: {} }],
      }),
    });
    const choose = (name: string) =>
      loadConfig({ kind: 'files', files: [join(directory, 'config')], context: name }, KubeConfig);
    expect(choose('production').getCurrentCluster()?.server).toBe('https://production');
    expect(() => choose('prod')).toThrow(/config: there is no context prod; there is staging, production$/);
  });

  it.each([
    {
      why: 'no YAML',
      text: 'users: [{token: "secret-token"\n  - x: ]',
      fault: /config0:2:3: this is no YAML \(.*\)$/m,
    },
    {
      why: 'without a name for a cluster',
      text: '{"clusters": [{}]}',
      fault: /config0: cannot be read as a kubeconfig: /,
    },
    { why: 'empty', text: '', fault: /config0: has no current-context; choose one with/ },
    { why: 'without current-context', text: '{}', fault: /config0: has no current-context; choose one with/ },
    {
      why: 'with a context that is not there',
      text: '{"current-context": "x"}',
      fault: /config0: context x names no cluster that is in the file/,
    },
    {
      why: 'with a user that is not there',
      text: kubeconfigText('https://c', { context: { user: 'nobody' } }),
      fault: /config0: context test names no user that is in the file/,
    },
    { why: 'with a server that is no URL', text: kubeconfigText('c:x:y'), fault: /server c:x:y is not a URL/ },
    {
      why: 'with a server that is not https',
      text: kubeconfigText('http://c', { cluster: { 'insecure-skip-tls-verify': false } }),
      fault: /server http:\/\/c is not https; if that is meant, set insecure-skip-tls-verify: true/,
    },
  ])('refuses a file that is $why, and quotes nothing of it that may be secret', ({ text, fault }) => {
    const attempt = load(text).load;
    expect(attempt).toThrow(expect.objectContaining({ name: 'InputError', message: expect.stringMatching(fault) }));
    expect(attempt).not.toThrow(/secret-token/);
  });

  it('refuses a file that is not there', () => {
    const attempt = () => loadConfig({ kind: 'files', files: ['/no/kubeconfig'] }, KubeConfig);
    expect(attempt).toThrow(/^\/no\/kubeconfig: not found$/);
  });

  it('of a pod knows its namespace, whereas that of a context says nothing of where taintkeeper is', () => {
    const account = SERVICE_ACCOUNT.slice(1);
    const root = directoryWith({});
    mkdirSync(join(root, account), { recursive: true });
    for (const [name, text] of Object.entries({ token: 't', 'ca.crt': '', namespace: 'guard' }))
      writeFileSync(join(root, account, name), text);
    const pod = { kind: 'pod', root } as const;
    for (const [name, value] of Object.entries(POD)) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(podNamespace(pod, loadConfig(pod, KubeConfig))).toBe('guard');
    const files = [join(directoryWith({ a: kubeconfigText('https://x', { context: { namespace: 'apps' } }) }), 'a')];
    expect(podNamespace({ kind: 'files', files }, loadConfig({ kind: 'files', files }, KubeConfig))).toBeUndefined();
  });

  it('refuses a pod without a service account, with advice', () => {
    const root = directoryWith({});
    expect(() => loadConfig({ kind: 'pod', root }, KubeConfig)).toThrow(
      `${root}${SERVICE_ACCOUNT}/token: there is no such file; the pod needs automountServiceAccountToken: true`,
    );
  });
});
