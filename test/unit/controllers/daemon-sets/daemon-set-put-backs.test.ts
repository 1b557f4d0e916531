import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_PATCHED, type PatchedDaemonSet } from '../../../../src/policy/reporting/policy-status.ts';
import { INSTALLATION, type Writable } from '../running-cluster.ts';
import {
  ADDED,
  claiming,
  fromEarlierInstallation,
  GPU,
  MASTER,
  MINUTE,
  optedOut,
  patchedBefore,
  soon,
  startPatching,
  unmarked,
  withTolerations,
} from './patched-daemon-sets.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

async function undone(edit: (object: Writable) => void = () => {}) {
  const cluster = startPatching();
  cluster.add('a/a');
  await soon();
  cluster.change('a/a', (object) => {
    object.metadata.managedFields.push({
      ...{ manager: 'operator', operation: 'Update', time: '2026-01-01T00:00:00Z' },
      fieldsV1: { 'f:spec': { 'f:template': { 'f:spec': { 'f:tolerations': {} } } } },
    });
    withTolerations()(object);
    edit(object);
  });
  await soon();
  return cluster;
}

const cni = 'TolerationPolicy cni';

function putBackEvents({ events }: Awaited<ReturnType<typeof undone>>): string[] {
  return events
    .filter(({ reason }) => reason === 'TolerationMissing')
    .map(({ regarding: { kind, name } }) => `${kind} ${name}`);
}

it.each([
  { why: 'the annotation stays', edit: () => {} },
  { why: 'the annotation goes, too', edit: unmarked },
])('what is put back is not patched again, and reported with who did it: $why', async ({ edit }) => {
  const cluster = await undone(edit);
  for (let round = 0; round < 20; round++) {
    await vi.advanceTimersByTimeAsync(MINUTE);
    cluster.change('a/a', () => {});
  }
  expect(cluster.patched()).toEqual(['a/a']);
  expect(cluster.causes()).toEqual(['cni removed a/a']);
  expect(cluster.problems()[0]?.message).toContain('(field manager "operator" (Update at 2026-01-01T00:00:00Z))');
  const told = cluster.events.filter(({ reason }) => reason === 'TolerationMissing');
  expect(told.map(({ regarding }) => regarding.kind)).toEqual(['DaemonSet', 'TolerationPolicy']);
  expect(told[0]?.note).not.toContain('2026');
});

it('another operator of the policy is another toleration, which no writer has removed', async () => {
  const cluster = startPatching();
  // `Equal` is the default: the empty value alone is tolerated.
  const mistaken = { key: 'gpu', effect: 'NoSchedule' } as const;
  cluster.require(mistaken);
  cluster.add('a/a');
  await soon();
  cluster.require(GPU);
  await soon();
  expect(cluster.get('a/a').spec.template.spec.tolerations).toEqual([mistaken, GPU]);
  expect(cluster.causes()).toEqual([]);
});

it('a replacement without tolerations is reported with its writer, although its field manager owns no part of the template', async () => {
  const template = { 'f:spec': { 'f:template': {} } };
  const cluster = await undone((object) => {
    object.metadata.managedFields.splice(
      0,
      Infinity,
      {
        ...{ manager: 'kubectl-replace', operation: 'Update', time: '2026-01-03T00:00:00Z' },
        fieldsV1: { 'f:metadata': { 'f:annotations': {} } },
      },
      {
        ...{ manager: 'kubectl-client-side-apply', operation: 'Update', time: '2026-01-01T00:00:00Z' },
        fieldsV1: template,
      },
      {
        ...{ manager: 'kube-controller-manager', operation: 'Update', time: '2026-01-04T00:00:00Z' },
        ...{ subresource: 'status', fieldsV1: { 'f:status': {} } },
      },
      { manager: 'taintkeeper', operation: 'Update', time: '2026-01-05T00:00:00Z', fieldsV1: template },
    );
  });
  expect(cluster.problems()[0]?.message).toContain(
    '(field manager "kubectl-replace" (Update at 2026-01-03T00:00:00Z))',
  );
});

it('what is put back does not hold up the others, nor is told of once more when one of them is', async () => {
  const cluster = await undone();
  cluster.add('b/b');
  await soon();
  expect(cluster.patched()).toEqual(['a/a', 'b/b']);
  cluster.change('b/b', withTolerations());
  await soon();
  expect(cluster.causes()).toEqual(['cni removed a/a', 'cni removed b/b']);
  expect(cluster.events.filter(({ reason }) => reason === 'TolerationMissing')).toHaveLength(4);
});

it('what is put back is no problems any more once it tolerates, or opts out', async () => {
  const cluster = await undone();
  cluster.change('a/a', withTolerations(MASTER));
  await soon();
  expect(cluster.causes()).toEqual([]);
  cluster.change('a/a', withTolerations());
  await soon();
  expect(cluster.causes()).toEqual(['cni removed a/a']);
  cluster.change('a/a', optedOut);
  await soon();
  expect(cluster.causes()).toEqual([]);
  expect(cluster.patched()).toEqual(['a/a']);
});

it('what is put back is not tried again because the annotation is removed afterwards', async () => {
  const cluster = await undone();
  cluster.change('a/a', unmarked);
  await soon();
  expect(cluster.patched()).toEqual(['a/a']);
});

describe('the next leader', () => {
  it.each([
    { why: 'while no replica leads', early: false },
    { why: 'before', early: true },
  ])('does not patch again what its owner has replaced, the annotation with it, $why', async ({ early }) => {
    const cluster = early ? await undone(unmarked) : startPatching();
    if (!early) cluster.add('a/a');
    await soon();
    expect(cluster.recorded()).toEqual([
      {
        ...{ namespace: 'a', name: 'a', uid: cluster.get('a/a').metadata.uid },
        ...{ tolerations: ['master:NoSchedule'], installation: INSTALLATION },
      },
    ]);
    const replace = () => {
      if (early) return;
      cluster.change('a/a', unmarked);
      cluster.change('a/a', withTolerations());
    };
    await cluster.changeLeader(replace);
    await soon();
    expect(cluster.patched()).toEqual(['a/a']);
    expect(cluster.causes()).toEqual(['cni removed a/a']);
  });

  it('does not repeat the Events of a problem that the status already has', async () => {
    const cluster = await undone();
    for (let leaders = 0; leaders < 3; leaders++) {
      await cluster.changeLeader(() => {});
      await soon();
    }
    expect(cluster.causes()).toEqual(['cni removed a/a']);
    expect(putBackEvents(cluster)).toHaveLength(2);
  });

  it('records Events of a problem that began while there was no leader, and of one that returns', async () => {
    const cluster = await undone();
    cluster.add('b/b');
    await soon();
    await cluster.changeLeader(() => cluster.change('b/b', withTolerations()));
    await soon();
    expect(putBackEvents(cluster)).toEqual(['DaemonSet a', cni, 'DaemonSet b', cni]);
    cluster.change('a/a', withTolerations(MASTER));
    await soon();
    cluster.change('a/a', withTolerations());
    await soon();
    expect(putBackEvents(cluster)).toEqual(['DaemonSet a', cni, 'DaemonSet b', cni, 'DaemonSet a', cni]);
  });

  it('lets the status be written only once it knows the problems', async () => {
    const cluster = await undone();
    await cluster.changeLeader(() => {});
    expect([cluster.isReported('TolerationPolicy'), cluster.isReported('TaintPolicy')]).toEqual([false, true]);
    expect(cluster.causes()).toEqual([]);
    await soon();
    expect(cluster.isReported('TolerationPolicy')).toBe(true);
    expect(cluster.causes()).toEqual(['cni removed a/a']);
  });

  it('records what a leader has patched that was killed before it wrote the status', async () => {
    const cluster = startPatching();
    cluster.add('a/a', patchedBefore);
    await soon();
    expect(cluster.recorded()).toMatchObject([{ name: 'a', tolerations: ['master:NoSchedule'] }]);
  });

  it('does not patch again what its owner has replaced, although hundreds of DaemonSets claim that they were patched', async () => {
    const cluster = startPatching();
    cluster.add('a/a');
    await soon();
    cluster.change('a/a', unmarked);
    const claims = Array.from({ length: MAX_PATCHED + 10 }, (_, index) => `b/b${index}`);
    cluster.follow(false);
    for (const key of claims) cluster.add(key, claiming('master:NoSchedule', ...claims));
    cluster.follow(true);
    await soon();
    for (let leaders = 0; leaders < 2; leaders++) await cluster.changeLeader(() => {}, cluster.written());
    await cluster.changeLeader(() => cluster.change('a/a', withTolerations()), cluster.written());
    await soon();
    expect(cluster.patched()).toEqual(['a/a']);
    expect(cluster.causes()).toContain('cni removed a/a');
    expect(new Set(cluster.recorded().flatMap(({ tolerations }) => tolerations))).toEqual(
      new Set(['master:NoSchedule']),
    );
  });

  it('no longer records a DaemonSet that was deleted, or that opts out', async () => {
    const cluster = startPatching();
    cluster.add('a/a');
    cluster.add('b/b');
    await soon();
    await cluster.changeLeader(() => {
      cluster.remove('a/a');
      cluster.change('b/b', optedOut);
    });
    await soon();
    expect(cluster.recorded()).toEqual([]);
  });

  it('adds once more what another installation has added, and was removed since', async () => {
    const cluster = startPatching();
    cluster.add('a/a');
    await soon();
    cluster.change('a/a', unmarked);
    const [recorded] = cluster.recorded();
    await cluster.changeLeader(
      () => cluster.change('a/a', withTolerations()),
      [{ ...(recorded as PatchedDaemonSet), installation: 'uid-of-an-earlier-installation' }],
    );
    await soon();
    expect(cluster.patched()).toEqual(['a/a', 'a/a']);
    expect(cluster.recorded()).toEqual([recorded]);
  });
});

it('what is put back is tried again after it has opted out and in, where there is no annotation', async () => {
  const cluster = await undone(unmarked);
  cluster.change('a/a', optedOut);
  await soon();
  cluster.change('a/a', unmarked);
  await soon();
  expect(cluster.patched()).toEqual(['a/a', 'a/a']);
});

it('a toleration of an earlier installation that another writer removed is added again, but only once', async () => {
  const cluster = startPatching();
  cluster.add('a/a', fromEarlierInstallation);
  await soon();
  expect(cluster.patched()).toEqual(['a/a']);
  expect(cluster.causes()).toEqual([]);
  // What is gone and was not added again is nobody's any more.
  expect(cluster.get('a/a').metadata.annotations).toEqual({ [ADDED]: `master:NoSchedule; by ${INSTALLATION}` });

  cluster.change('a/a', withTolerations());
  await soon();
  expect(cluster.patched()).toEqual(['a/a']);
  expect(cluster.causes()).toEqual(['cni removed a/a']);
});

it('a policy that requires more is something else: that is added', async () => {
  const cluster = startPatching();
  cluster.add('a/a');
  await soon();
  cluster.require(MASTER, GPU);
  await soon();
  expect(cluster.get('a/a').spec.template.spec.tolerations).toEqual([MASTER, GPU]);
  expect(cluster.get('a/a').metadata.annotations[ADDED]).toBe(`master:NoSchedule, gpu:NoSchedule; by ${INSTALLATION}`);
});
