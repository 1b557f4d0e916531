import { describe, expect, it } from 'vitest';
import { type Change, createCachedObjects } from '../../../../src/cluster/watch/cached-objects.ts';

type Thing = { metadata: { name: string; namespace?: string; uid: string; resourceVersion: string }; text: string };

const thing = (name: string, uid: string, resourceVersion: string, text = `${name}@${resourceVersion}`): Thing => ({
  metadata: { name, uid, resourceVersion },
  text,
});

/** The objects, and what they told: changes as `type name=value`, with the value before in parentheses. */
function cache() {
  const told: string[] = [];
  const unreadable: string[] = [];
  const changed: string[] = [];
  const objects = createCachedObjects<string>({
    project(object) {
      const { text } = object as Thing;
      if (text === 'unreadable') throw new Error('on purpose');
      return text;
    },
    onChange: (change: Change<string>) =>
      told.push(
        `${change.type} ${change.entry.name}=${change.entry.value}${change.type === 'modified' ? ` (${change.previous.value})` : ''}`,
      ),
    onUnreadable: (what, error) => unreadable.push(`${what}: ${(error as Error).message}`),
    onUnreadableChange: ({ name, namespace }) => changed.push(`${name} ${objects.isUnreadable(name, namespace)}`),
  });
  return { objects, told, unreadable, take: () => told.splice(0), takeChanged: () => changed.splice(0) };
}

describe('an object that is observed', () => {
  it('is added, modified and removed', () => {
    const { objects, told } = cache();
    objects.observed(thing('a', 'u', '1'));
    objects.observed(thing('a', 'u', '2'));
    expect(objects.get('a', '')).toEqual({ namespace: '', name: 'a', uid: 'u', resourceVersion: '2', value: 'a@2' });
    objects.removed(thing('a', 'u', '3'));
    expect(objects.get('a', '')).toBeUndefined();
    expect(told).toEqual(['added a=a@1', 'modified a=a@2 (a@1)', 'deleted a=a@2']);
  });

  it.each([
    { why: 'the same version', version: '10' },
    { why: 'an older one', version: '9' },
  ])('in $why changes nothing', ({ version }) => {
    const { objects, take } = cache();
    objects.observed(thing('a', 'u', '10'));
    take();
    objects.observed(thing('a', 'u', version, 'other'));
    expect(take()).toEqual([]);
    expect(objects.get('a', '')?.value).toBe('a@10');
  });

  it('keeps the very value that it had, where what is kept is the same', () => {
    const changes: Change<{ text: string }>[] = [];
    const objects = createCachedObjects<{ text: string }>({
      project: (object) => ({ text: (object as Thing).text }),
      onChange: (change) => changes.push(change),
      onUnreadable: () => {},
    });
    objects.observed(thing('a', 'u', '1', 'same'));
    const first = objects.get('a', '')?.value;
    objects.observed(thing('a', 'u', '2', 'same'));
    expect(objects.get('a', '')).toMatchObject({ resourceVersion: '2' });
    expect(objects.get('a', '')?.value).toBe(first);
    objects.observed(thing('a', 'u', '3', 'other'));
    expect(objects.get('a', '')?.value).toEqual({ text: 'other' });
    expect(changes.map(({ type }) => type)).toEqual(['added', 'modified', 'modified']);
  });

  it('with another uid is another object: the one before it was deleted', () => {
    const { objects, take } = cache();
    objects.observed(thing('a', 'u1', '1'));
    take();
    objects.observed(thing('a', 'u2', '5'));
    expect(take()).toEqual(['deleted a=a@1', 'added a=a@5']);
    objects.observed(thing('a', 'u1', '3'));
    objects.removed(thing('a', 'u1', '4'));
    expect(take()).toEqual([]);
  });

  it('with versions that have no order counts as newer', () => {
    const { objects, told } = cache();
    objects.observed(thing('a', 'u', 'x'));
    objects.observed(thing('a', 'u', 'b'));
    expect(told).toEqual(['added a=a@x', 'modified a=a@b (a@x)']);
  });

  it('has the same name in another namespace without being the same', () => {
    const { objects } = cache();
    objects.observed({
      ...thing('a', 'u1', '1'),
      metadata: { name: 'a', namespace: 'n', uid: 'u1', resourceVersion: '1' },
    });
    objects.observed(thing('a', 'u2', '2'));
    expect(objects.size).toBe(2);
    expect(objects.get('a', 'n')).toMatchObject({ namespace: 'n', uid: 'u1' });
    expect([...objects.values()].map(({ uid }) => uid)).toEqual(['u1', 'u2']);
  });

  it('and removed without having been known changes nothing', () => {
    const { objects, told } = cache();
    objects.removed(thing('a', 'u', '1'));
    expect(told).toEqual([]);
  });
});

describe('a list', () => {
  it('says of a change that it comes from a list, and an event of the watch does not', () => {
    const changes: Change<string>[] = [];
    const objects = createCachedObjects<string>({
      project: (object) => (object as Thing).text,
      onChange: (change) => changes.push(change),
      onUnreadable: () => {},
    });
    objects.observed(thing('a', 'u', '1'));
    objects.observed(thing('a', 'u', '2'));
    objects.listed(thing('a', 'u', '3'));
    expect(changes.map((change) => [change.type, 'isListed' in change])).toEqual([
      ['added', false],
      ['modified', false],
      ['modified', true],
    ]);
  });

  it('changes only what differs, and removes what is not in it', () => {
    const { objects, take } = cache();
    for (const name of ['same', 'changed', 'replaced', 'gone']) objects.listed(thing(name, `${name}-1`, '10'));
    take();
    const listed = [
      thing('same', 'same-1', '10'),
      thing('changed', 'changed-1', '20'),
      thing('replaced', 'replaced-2', '21'),
      thing('new', 'new-1', '22'),
    ];
    const keys = new Set(listed.map((item) => objects.listed(item) ?? ''));
    objects.retain(keys);
    expect(take()).toEqual([
      'modified changed=changed@20 (changed@10)',
      'deleted replaced=replaced@10',
      'added replaced=replaced@21',
      'added new=new@22',
      'deleted gone=gone@10',
    ]);
  });

  it('is the truth, even with an older version: etcd was set back', () => {
    const { objects, take } = cache();
    objects.observed(thing('a', 'u', '10'));
    take();
    objects.listed(thing('a', 'u', '4'));
    expect(take()).toEqual(['modified a=a@4 (a@10)']);
  });
});

describe('an object that cannot be read', () => {
  it('stays as it was last read, and is told of once', () => {
    const { objects, told, unreadable } = cache();
    objects.observed(thing('a', 'u', '1'));
    objects.observed(thing('a', 'u', '2', 'unreadable'));
    objects.observed(thing('a', 'u', '3', 'unreadable'));
    expect(objects.get('a', '')).toMatchObject({ resourceVersion: '1', value: 'a@1' });
    objects.observed(thing('a', 'u', '4'));
    objects.observed(thing('a', 'u', '5', 'unreadable'));
    expect(told).toEqual(['added a=a@1', 'modified a=a@4 (a@1)']);
    expect(unreadable).toEqual(['a: on purpose', 'a: on purpose']);
  });

  it('is retained by a list that has it, and told of again after it was gone', () => {
    const { objects, take, unreadable } = cache();
    objects.observed(thing('a', 'u', '1'));
    take();
    objects.retain(new Set([objects.listed(thing('a', 'u', '2', 'unreadable')) ?? '']));
    objects.listed(thing('b', 'u', '2', 'unreadable'));
    expect(take()).toEqual([]);
    objects.removed(thing('b', 'u', '3'));
    objects.retain(new Set());
    expect(take()).toEqual(['deleted a=a@1']);
    objects.observed(thing('a', 'u', '4', 'unreadable'));
    objects.observed(thing('b', 'u', '4', 'unreadable'));
    expect(unreadable).toEqual(['a', 'b', 'a', 'b'].map((name) => `${name}: on purpose`));
  });

  it('is told of when that begins, and when it ends: another version, a deletion, a list', () => {
    const { objects, takeChanged } = cache();
    const becomeUnreadable = (version: string) => {
      objects.observed(thing('a', 'u', version, 'unreadable'));
      return takeChanged();
    };
    expect(becomeUnreadable('1')).toEqual(['a true']);
    expect(becomeUnreadable('2')).toEqual([]);
    objects.observed(thing('a', 'u', '3'));
    expect(takeChanged()).toEqual(['a false']);
    objects.observed(thing('a', 'u', '4'));
    expect(takeChanged()).toEqual([]);
    expect(becomeUnreadable('5')).toEqual(['a true']);
    objects.removed(thing('a', 'u', '6'));
    expect(takeChanged()).toEqual(['a false']);
    expect(becomeUnreadable('7')).toEqual(['a true']);
    objects.retain(new Set());
    expect(takeChanged()).toEqual(['a false']);
  });

  it('is not there when it is new, nor when it replaces another', () => {
    const { objects, take } = cache();
    objects.observed(thing('new', 'u', '1', 'unreadable'));
    expect(objects.size).toBe(0);
    objects.observed(thing('a', 'u1', '1'));
    take();
    objects.observed(thing('a', 'u2', '2', 'unreadable'));
    expect(take()).toEqual(['deleted a=a@1']);
  });

  it('exists all the same, until it is removed', () => {
    const { objects } = cache();
    objects.observed(thing('a', 'u', '1', 'unreadable'));
    objects.observed(thing('b', 'u', '1'));
    expect(['a', 'b', 'c'].filter((name) => objects.has(name, ''))).toEqual(['a', 'b']);
    objects.removed(thing('a', 'u', '2'));
    objects.retain(new Set());
    expect(['a', 'b', 'c'].filter((name) => objects.has(name, ''))).toEqual([]);
  });

  it.each([
    null,
    'text',
    {},
    { metadata: { name: 'a', uid: 'u' } },
    { metadata: { name: 1, uid: 'u', resourceVersion: '1' } },
  ])('because it is %j is told of', (object) => {
    const { objects, unreadable } = cache();
    expect(objects.listed(object)).toBeUndefined();
    objects.observed(object);
    objects.removed(object);
    expect(unreadable).toHaveLength(3);
  });
});
