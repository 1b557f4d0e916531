import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { manyTolerations } from '../../judge/request/daemon-set-cases.ts';
import { apply, INSTALLATION, type Writable } from '../running-cluster.ts';
import {
  ADDED,
  ailing,
  claiming,
  GPU,
  MASTER,
  MINUTE,
  OWN,
  optedOut,
  patchedBefore,
  soon,
  startPatching,
  unseen,
  updated,
  well,
  withTolerations,
} from './patched-daemon-sets.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('patches once, precisely, and tells of it', async () => {
  const cluster = startPatching();
  cluster.add('kube-flannel/flannel', ({ spec, metadata }) => {
    spec.template.spec.tolerations = [OWN];
    metadata.annotations['example.com/other'] = 'stays';
  });
  const { uid, resourceVersion } = cluster.get('kube-flannel/flannel').metadata;
  await vi.advanceTimersByTimeAsync(9_000);
  expect(cluster.patches).toEqual([]);
  await soon();
  expect(cluster.patches.map(({ body }) => body)).toEqual([
    {
      metadata: { uid, resourceVersion, annotations: { [ADDED]: `master:NoSchedule; by ${INSTALLATION}` } },
      spec: { template: { spec: { tolerations: [OWN, MASTER] } } },
    },
  ]);
  expect(cluster.events.map(({ regarding, reason, note }) => [regarding.kind, reason, note])).toEqual([
    ['DaemonSet', 'TolerationAdded', 'TolerationPolicy cni: added toleration master:NoSchedule while it ran'],
    [
      'TolerationPolicy',
      'TolerationAdded',
      'DaemonSet kube-flannel/flannel: added toleration master:NoSchedule while it ran',
    ],
  ]);
  expect(cluster.repairs).toEqual(['DaemonSet cni']);
  expect(cluster.problems()).toEqual([]);
});

it('patches the others where the DaemonSet that it has patched became too large to be read', async () => {
  const cluster = startPatching();
  cluster.failWith(() => cluster.makeUnreadable('a/a'));
  cluster.add('a/a');
  cluster.add('b/b');
  await soon();
  expect(cluster.patched()).toEqual(['a/a', 'b/b']);
});

describe('leaves alone', () => {
  it.each<{ why: string; key?: string; edit?: (object: Writable) => void; audit?: boolean }>([
    { why: 'all, under --audit', audit: true },
    { why: 'its own namespace', key: 'taintkeeper/agent' },
    { why: 'what opts out', edit: optedOut },
    { why: 'what is not healthy', edit: ailing },
    { why: 'what has no status yet', edit: unseen },
    { why: 'what tolerates it already', edit: withTolerations(MASTER) },
  ])('$why', async ({ key = 'a/a', edit, audit = false }) => {
    const cluster = startPatching({ audit });
    cluster.add(key, edit);
    await soon();
    expect(cluster.patches).toEqual([]);
  });
});

it('tries nothing that is not permitted, and sets to work once it is', async () => {
  const cluster = startPatching();
  cluster.permit(undefined);
  cluster.add('a/a');
  await soon();
  cluster.permit(false);
  await soon();
  expect([cluster.patches, cluster.events, cluster.problems()]).toEqual([[], [], []]);
  cluster.permit(true);
  await soon();
  expect(cluster.patched()).toEqual(['a/a']);
});

describe('a DaemonSet with more than 256 tolerations', () => {
  const many = manyTolerations(257);

  it('is reported, the others are patched, and it is patched once it has fewer', async () => {
    const cluster = startPatching();
    cluster.add('a/a', withTolerations(...many));
    cluster.add('a/b');
    await soon();
    expect(cluster.patched()).toEqual(['a/b']);
    expect(cluster.causes()).toEqual(['cni tooMany a/a']);
    expect(cluster.problems()).toMatchObject([
      { reason: 'TolerationMissing', message: expect.stringContaining('lacks toleration master:NoSchedule') },
    ]);
    const told = cluster.events.filter(({ reason }) => reason === 'TolerationMissing');
    expect(told.map(({ type, regarding }) => `${type} ${regarding.kind}`)).toEqual([
      'Warning DaemonSet',
      'Warning TolerationPolicy',
    ]);
    cluster.change('a/a', withTolerations(...many.slice(1)));
    await soon();
    expect(cluster.patched()).toEqual(['a/b', 'a/a']);
    expect(cluster.causes()).toEqual([]);
  });

  it.each([
    { why: 'it lacks none', edit: withTolerations(...many, MASTER) },
    {
      why: 'it opts out',
      edit(object: Writable) {
        withTolerations(...many)(object);
        optedOut(object);
      },
    },
  ])('is not reported if $why', async ({ edit }) => {
    const cluster = startPatching();
    cluster.add('a/a', edit);
    await soon();
    expect([cluster.patches, cluster.events, cluster.problems()]).toEqual([[], [], []]);
  });
});

describe('one at a time', () => {
  it('by namespace and name, the next once the one before is well; what ails at first is overtaken', async () => {
    const cluster = startPatching();
    for (const key of ['b/a', 'a/b', 'a/a']) cluster.add(key);
    cluster.change('a/b', ailing);
    cluster.failWith(
      ({ path }) => void (path.endsWith('/a/daemonsets/a') && setTimeout(() => cluster.change('a/a', ailing))),
    );
    await soon();
    expect(cluster.patched()).toEqual(['a/a']);
    cluster.change('a/a', well);
    await soon();
    expect(cluster.patched()).toEqual(['a/a', 'b/a']);
    cluster.change('a/b', well);
    await soon();
    expect(cluster.patched()).toEqual(['a/a', 'b/a', 'a/b']);
  });

  it('also after another leader: its annotation says what it was at', async () => {
    const cluster = startPatching();
    cluster.add('a/a', patchedBefore);
    cluster.change('a/a', updated(1));
    cluster.add('a/b');
    await soon();
    expect(cluster.patches).toEqual([]);
    cluster.change('a/a', updated(3));
    await soon();
    expect(cluster.patched()).toEqual(['a/b']);
  });

  it('a node that is not Ready blocks no patch, and OnDelete does not wait for replaced pods', async () => {
    const cluster = startPatching();
    cluster.add('a/a', ailing);
    cluster.add('a/b', ({ spec, status }) => {
      spec.updateStrategy.type = 'OnDelete';
      status.updatedNumberScheduled = 0;
    });
    cluster.setUnreadyNodes(1);
    await soon();
    expect(cluster.patched()).toEqual(['a/a', 'a/b']);
  });

  it('dead nodes where it does not run, or that the patch has broken, are no reason to go on', async () => {
    const cluster = startPatching();
    cluster.add('a/a', ({ spec }) => {
      spec.template.spec.nodeSelector = { pool: 'control-plane' };
    });
    cluster.add('a/b');
    cluster.add('a/c');
    cluster.setUnreadyNodes(3);
    cluster.failWith(({ path }) => {
      const key = path.endsWith('/a') ? 'a/a' : 'a/b';
      setTimeout(() => {
        cluster.change(key, ailing);
        if (key === 'a/b') cluster.setUnreadyNodes(4);
      });
    });
    await soon();
    expect(cluster.patched()).toEqual(['a/a']);
    cluster.setUnreadyNodes(0);
    cluster.change('a/a', well);
    await soon();
    expect(cluster.patched()).toEqual(['a/a', 'a/b']);
  });

  it.each([
    { why: 'agrees with the API server', aheadMs: 0 },
    { why: 'is two days ahead', aheadMs: 2 * 24 * 60 * MINUTE },
  ])(
    'nodes that the patch of another leader may have broken are no reason to go on: the clock of this one $why',
    async ({ aheadMs }) => {
      const cluster = startPatching();
      const apiTime = Date.now() - aheadMs;
      cluster.setApiTime(() => new Date(Date.now() - aheadMs));
      cluster.add('a/a', (object) => {
        patchedBefore(object);
        ailing(object);
        const fieldsV1 = { 'f:spec': { 'f:template': { 'f:spec': { 'f:tolerations': {} } } } };
        object.metadata.managedFields = [{ manager: 'taintkeeper', time: new Date(apiTime).toISOString(), fieldsV1 }];
      });
      cluster.add('a/b');
      cluster.setUnreadyNodes(1, apiTime + 1_000);
      await soon();
      expect(cluster.patches).toEqual([]);
      cluster.change('a/a', well);
      await soon();
      expect(cluster.patched()).toEqual(['a/b']);
    },
  );

  it('waits until the cache has seen its own patch', async () => {
    const cluster = startPatching();
    cluster.add('a/a');
    cluster.add('a/b');
    cluster.follow(false);
    await soon();
    expect(cluster.patched()).toEqual(['a/a']);
    cluster.follow(true);
    await soon();
    expect(cluster.patched()).toEqual(['a/a', 'a/b']);
  });

  it('a rollout that hangs is reported, and blocks the other DaemonSets until its DaemonSet opts out', async () => {
    const cluster = startPatching();
    cluster.add('a/a', patchedBefore);
    cluster.change('a/a', ailing);
    cluster.add('a/b');
    await vi.advanceTimersByTimeAsync(11 * MINUTE);
    expect(cluster.patches).toEqual([]);
    expect(cluster.causes()).toEqual(['cni rollout a/a']);
    expect(cluster.events.map(({ reason, regarding }) => `${reason} ${regarding.kind}`)).toEqual([
      'TolerationMissing DaemonSet',
      'TolerationMissing TolerationPolicy',
    ]);
    cluster.change('a/a', optedOut);
    await soon();
    expect(cluster.patched()).toEqual(['a/b']);
    expect(cluster.causes()).toEqual([]);
  });

  it('a rollout that hangs has no second Event from the next leader, unless it recovers and hangs again', async () => {
    const cluster = startPatching();
    cluster.add('a/a', patchedBefore);
    cluster.change('a/a', ailing);
    cluster.add('a/b');
    const stalledEvents = () => cluster.events.filter(({ reason }) => reason === 'TolerationMissing').length;
    await vi.advanceTimersByTimeAsync(11 * MINUTE);
    await cluster.changeLeader(() => {});
    await vi.advanceTimersByTimeAsync(11 * MINUTE);
    expect(cluster.causes()).toEqual(['cni rollout a/a']);
    expect(stalledEvents()).toBe(2);

    // The next leader sees it recover first.
    await cluster.changeLeader(() => cluster.permit(false));
    cluster.change('a/a', well);
    await vi.advanceTimersByTimeAsync(2 * MINUTE);
    expect(cluster.causes()).toEqual([]);
    cluster.change('a/a', withTolerations(MASTER));
    cluster.change('a/a', ({ status }) => Object.assign(status, { updatedNumberScheduled: 0 }));
    cluster.change('a/a', ailing);
    await vi.advanceTimersByTimeAsync(11 * MINUTE);
    expect(cluster.causes()).toEqual(['cni rollout a/a']);
    expect(stalledEvents()).toBe(4);
  });

  it('a patched DaemonSet that becomes unhealthy is not reported while no other DaemonSet waits', async () => {
    const cluster = startPatching();
    cluster.add('a/a');
    await soon();
    cluster.change('a/a', ailing);
    await vi.advanceTimersByTimeAsync(20 * MINUTE);
    expect(cluster.causes()).toEqual([]);
  });

  it('a rollout that hangs is reported once, also when the same DaemonSet waits for more', async () => {
    const cluster = startPatching();
    cluster.add('a/a', patchedBefore);
    cluster.change('a/a', ailing);
    cluster.require(MASTER, GPU);
    await vi.advanceTimersByTimeAsync(11 * MINUTE);
    expect(cluster.causes()).toEqual(['cni rollout a/a']);
  });

  it('what is never healthy is reported, and patched when it is', async () => {
    const cluster = startPatching();
    cluster.add('a/a', ailing);
    await vi.advanceTimersByTimeAsync(11 * MINUTE);
    expect(cluster.causes()).toEqual(['cni unhealthy a/a']);
    cluster.change('a/a', well);
    await soon();
    expect(cluster.patched()).toEqual(['a/a']);
    expect(cluster.causes()).toEqual([]);
  });
});

describe('an annotation that a user has forged stops no patch', () => {
  it.each([
    { why: 'no policy selects the DaemonSet', key: 'tenant/evil', claims: 'x' },
    {
      why: 'no policy selects it, and the toleration is one that a policy asks for',
      key: 'tenant/evil',
      claims: 'master:NoSchedule',
    },
    { why: 'no policy asks for the toleration', key: 'kube-system/evil', claims: 'x' },
  ])('$why', async ({ key, claims }) => {
    const cluster = startPatching({ namespaces: ['kube-system'] });
    cluster.add(key, (object) => {
      claiming(claims)(object);
      withTolerations(MASTER)(object);
      ailing(object);
    });
    cluster.add('kube-system/flannel');
    await vi.advanceTimersByTimeAsync(11 * MINUTE);
    expect(cluster.patched()).toEqual(['kube-system/flannel']);
    expect(cluster.causes()).toEqual([]);
    expect(cluster.recorded().map(({ name }) => name)).toEqual(['flannel']);
  });
});

describe('a DaemonSet that was really patched, and whose rollout has not ended, is waited for', () => {
  it.each([
    { why: 'its leader died before it wrote the status', edit: patchedBefore, recorded: [] },
    {
      why: 'an earlier installation patched it',
      edit: (object: Writable) => {
        patchedBefore(object);
        object.metadata.annotations[ADDED] += '; by uid-of-an-earlier-installation';
      },
      recorded: [],
    },
    { why: 'only the status says so', edit: withTolerations(MASTER), recorded: ['master:NoSchedule'] },
    {
      why: 'only the status says so, and its policy asks for something else now',
      edit: withTolerations(GPU),
      recorded: ['gpu:NoSchedule'],
    },
  ])('$why', async ({ edit, recorded }) => {
    const cluster = startPatching();
    cluster.permit(false);
    cluster.add('a/a', edit);
    cluster.change('a/a', ailing);
    cluster.add('a/b');
    const { uid } = cluster.get('a/a').metadata;
    await cluster.changeLeader(
      () => cluster.permit(true),
      recorded.length === 0 ? [] : [{ namespace: 'a', name: 'a', uid, tolerations: recorded }],
    );
    await soon();
    expect(cluster.patched()).toEqual([]);
    cluster.change('a/a', well);
    await soon();
    expect(cluster.patched()).toContain('a/b');
  });
});

describe('a patch that fails', () => {
  it('because another writer was faster: the newest state is patched', async () => {
    const cluster = startPatching();
    cluster.add('a/a');
    cluster.failWith(() => {
      cluster.failWith(undefined);
      setTimeout(() => cluster.change('a/a', withTolerations(OWN)));
      return new ApiError('PATCH', 'there', 409, 'Conflict', 'it was changed');
    });
    await soon();
    expect(cluster.patched()).toEqual(['a/a', 'a/a']);
    expect(cluster.get('a/a').spec.template.spec.tolerations).toEqual([OWN, MASTER]);
  });

  it('because another webhook denies it: reported, the others go on, and it is tried again later', async () => {
    const cluster = startPatching();
    cluster.add('a/a');
    cluster.add('a/b');
    cluster.failWith(({ path }) =>
      path.endsWith('/a') ? new ApiError('PATCH', path, 403, 'Forbidden', 'denied by another webhook') : undefined,
    );
    await soon();
    expect(cluster.patched()).toEqual(['a/a', 'a/b']);
    expect(cluster.causes()).toEqual(['cni refused a/a']);
    expect(cluster.problems()[0]?.message).toContain('denied by another webhook');
    await vi.advanceTimersByTimeAsync(11 * MINUTE);
    expect(cluster.patched()).toEqual(['a/a', 'a/b', 'a/a', 'a/a']);
    cluster.failWith(undefined);
    await vi.advanceTimersByTimeAsync(5 * MINUTE);
    expect(cluster.patched()).toEqual(['a/a', 'a/b', 'a/a', 'a/a', 'a/a']);
    // First that the problems are known, and then not once more at each try.
    expect(cluster.told).toEqual([[], ['cni refused a/a'], []]);
    expect(cluster.events.filter(({ reason }) => reason === 'TolerationMissing')).toHaveLength(2);
  });

  it('because the API server rejects it as invalid: another required toleration is tried at once', async () => {
    const cluster = startPatching();
    cluster.add('a/a');
    cluster.failWith(({ path }) => new ApiError('PATCH', path, 422, 'Invalid', 'not a toleration'));
    await soon();
    expect(cluster.patched()).toEqual(['a/a']);
    cluster.failWith(undefined);
    cluster.require(GPU);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(cluster.get('a/a').spec.template.spec.tolerations).toEqual([GPU]);
    expect(cluster.causes()).toEqual([]);
  });

  it('because a webhook does not answer the API server: reported once, by whichever leader, and the others go on', async () => {
    const cluster = startPatching();
    cluster.add('a/a');
    cluster.add('a/b');
    cluster.failWith(({ path }) =>
      path.endsWith('/a') ? new ApiError('PATCH', path, 500, 'InternalError', 'failed calling webhook') : undefined,
    );
    await vi.advanceTimersByTimeAsync(2 * MINUTE);
    expect(cluster.patched()).toEqual(['a/a', 'a/b']);
    expect(cluster.causes()).toEqual(['cni refused a/a']);

    await cluster.changeLeader(() => {});
    await soon();
    expect(cluster.causes()).toEqual(['cni refused a/a']);
    expect(cluster.events.filter(({ reason }) => reason === 'TolerationMissing')).toHaveLength(2);
  });

  it('with an error of the API server, though it was done: done it is', async () => {
    const cluster = startPatching();
    cluster.add('a/a');
    cluster.failWith(({ body, path }) => {
      cluster.change('a/a', apply(body));
      return new ApiError('PATCH', path, 500, 'InternalError', 'etcdserver: request timed out');
    });
    await soon();
    expect(cluster.patched()).toEqual(['a/a']);
    expect(cluster.repairs).toEqual(['DaemonSet cni']);
    expect(cluster.causes()).toEqual([]);
  });

  it.each([
    { why: 'without an answer', lateMs: 0, failure: () => new Error('no answer within 10000 ms') },
    { why: 'without an answer', lateMs: 30_000, failure: () => new Error('no answer within 10000 ms') },
    {
      why: 'with an error of etcd',
      lateMs: 5_000,
      failure: (path: string) => new ApiError('PATCH', path, 500, 'InternalError', 'etcdserver: request timed out'),
    },
  ])(
    '$why may arrive $lateMs ms later: no other DaemonSet is patched before its rollout has ended',
    async ({ lateMs, failure }) => {
      const cluster = startPatching();
      cluster.add('a/a');
      cluster.add('a/b');
      cluster.failWith(({ path, body }) => {
        cluster.failWith(undefined);
        setTimeout(() => {
          if (cluster.get('a/a').metadata.resourceVersion !== body.metadata.resourceVersion) return;
          cluster.change('a/a', apply(body));
          cluster.change('a/a', ailing);
        }, lateMs);
        return failure(path);
      });
      await vi.advanceTimersByTimeAsync(2 * MINUTE);
      expect(cluster.patched()).toEqual(['a/a']);
      expect(cluster.repairs).toEqual(['DaemonSet cni']);
      cluster.change('a/a', well);
      await soon();
      expect(cluster.patched()).toEqual(['a/a', 'a/b']);
    },
  );

  it.each([
    { why: 'it was changed', between: withTolerations(OWN), patched: ['a/a', 'a/a', 'a/b'] },
    { why: 'it was deleted', between: undefined, patched: ['a/a', 'a/b'] },
  ])('without an answer cannot arrive any more once its DaemonSet is another: $why', async ({ between, patched }) => {
    const cluster = startPatching();
    cluster.add('a/a');
    cluster.add('a/b');
    cluster.failWith(() => {
      cluster.failWith(undefined);
      setTimeout(() => (between ? cluster.change('a/a', between) : cluster.remove('a/a')), 5_000);
      return new Error('no answer within 10000 ms');
    });
    await vi.advanceTimersByTimeAsync(50_000);
    expect(cluster.patched()).toEqual(patched);
    expect(cluster.repairs).toHaveLength(patched.length - 1);
  });

  it('without an answer that arrives while other tolerations are required: the next patch waits for the watch', async () => {
    const cluster = startPatching();
    cluster.add('a/a');
    cluster.add('a/b');
    cluster.failWith(({ body }) => {
      cluster.failWith(undefined);
      setTimeout(() => {
        cluster.follow(false);
        cluster.change('a/a', apply(body));
        cluster.change('a/a', ailing);
        cluster.require(MASTER, GPU);
      }, 30_000);
      return new Error('no answer within 10000 ms');
    });
    await vi.advanceTimersByTimeAsync(2 * MINUTE);
    expect(cluster.patched()).toEqual(['a/a']);
    cluster.follow(true);
    await soon();
    expect(cluster.patched()).toEqual(['a/a']);
  });

  it('without an answer is reported when no API server can still have it, and sent again later: the others go on', async () => {
    const cluster = startPatching();
    cluster.add('a/a');
    cluster.add('a/b');
    cluster.failWith(({ path }) => (path.endsWith('/a') ? new Error('no answer within 10000 ms') : undefined));
    await vi.advanceTimersByTimeAsync(69_000);
    expect(cluster.patched()).toEqual(['a/a']);
    expect(cluster.causes()).toEqual([]);
    await soon();
    expect(cluster.patched()).toEqual(['a/a', 'a/b']);
    expect(cluster.causes()).toEqual(['cni refused a/a']);
    cluster.failWith(undefined);
    await vi.advanceTimersByTimeAsync(5 * MINUTE);
    expect(cluster.patched()).toEqual(['a/a', 'a/b', 'a/a']);
    expect(cluster.causes()).toEqual([]);
  });
});
