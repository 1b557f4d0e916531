import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { listFiles } from '../../../src/files/text-files.ts';
import { fingerprint, watchFiles } from '../../../src/files/watch-files.ts';
import { eventually } from '../eventually.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const INTERVAL_MS = 5;

/** Counts its own looks, so that a test can wait for some more of them instead of for time. */
async function watch(
  list: () => Promise<readonly string[]>,
  onChange: () => Promise<void> = async () => {},
  since?: string,
) {
  let looks = 0;
  const changed = vi.fn(onChange);
  const watching = await watchFiles(
    async () => {
      looks++;
      return list();
    },
    changed,
    INTERVAL_MS,
    since,
  );
  onTestFinished(watching.stop);
  const twoMoreLooks = async () => {
    const before = looks;
    await eventually(() => expect(looks).toBeGreaterThanOrEqual(before + 2));
  };
  return { changed, twoMoreLooks, stop: watching.stop, looks: () => looks };
}

/** A directory as the kubelet mounts a ConfigMap: files are links into a directory that `..data` leads to. */
function configMap(directory: string) {
  let generation = 0;
  return {
    publish(files: Record<string, string>) {
      const target = `..generation-${++generation}`;
      mkdirSync(join(directory, target));
      for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, target, name), text);
      symlinkSync(target, join(directory, '..data_tmp'));
      renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
    },
    link(name: string) {
      symlinkSync(join('..data', name), join(directory, name));
    },
  };
}

// Each change is made in one step, so that no look can see half of it.
it.each<{ what: string; change: (directory: string) => void }>([
  {
    what: 'a file grows',
    change: (directory) => appendFileSync(join(directory, 'a.yaml'), ' and more'),
  },
  { what: 'a file comes', change: (directory) => writeFileSync(join(directory, 'b.yaml'), '') },
  { what: 'a file goes', change: (directory) => rmSync(join(directory, 'a.yaml')) },
  { what: 'the directory goes', change: (directory) => renameSync(directory, `${directory}-gone`) },
  {
    what: 'a file is replaced by one of the same size and time',
    change(directory) {
      const [file, next] = [join(directory, 'a.yaml'), join(directory, 'next')];
      writeFileSync(next, 'text');
      utimesSync(next, 1, 1);
      renameSync(next, file);
    },
  },
])('tells when $what, once', async ({ change }) => {
  const directory = join(temporaryDirectory(), 'policies');
  mkdirSync(directory);
  writeFileSync(join(directory, 'a.yaml'), 'text');
  utimesSync(join(directory, 'a.yaml'), 1, 1);
  const { changed, twoMoreLooks } = await watch(() => listFiles([directory]));
  await twoMoreLooks();
  expect(changed).not.toHaveBeenCalled();
  change(directory);

  await eventually(() => expect(changed).toHaveBeenCalledTimes(1));
  await twoMoreLooks();
  expect(changed).toHaveBeenCalledTimes(1);
});

it.each<{ what: string; change: (directory: string) => void; calls: number }>([
  { what: 'that changed', change: (directory) => appendFileSync(join(directory, 'a.yaml'), ' and more'), calls: 1 },
  { what: 'that came', change: (directory) => writeFileSync(join(directory, 'b.yaml'), ''), calls: 1 },
  { what: 'that went', change: (directory) => rmSync(join(directory, 'a.yaml')), calls: 1 },
  { what: 'that stayed as it was', change: () => {}, calls: 0 },
])(
  'tells $calls times of a file $what between the fingerprint it is given and its first look',
  async ({ change, calls }) => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'a.yaml'), 'text');
    const list = () => listFiles([directory]);
    const since = await fingerprint(list);
    change(directory);
    const { changed, twoMoreLooks } = await watch(list, undefined, since);

    await eventually(() => expect(changed).toHaveBeenCalledTimes(calls));
    await twoMoreLooks();
    await twoMoreLooks();
    expect(changed).toHaveBeenCalledTimes(calls);
  },
);

it('tells when a mounted ConfigMap is replaced through its link', async () => {
  const directory = temporaryDirectory();
  const map = configMap(directory);
  map.publish({ 'a.yaml': 'same size 1' });
  map.link('a.yaml');
  const { changed } = await watch(() => listFiles([directory]));
  map.publish({ 'a.yaml': 'same size 2' });

  await eventually(() => expect(changed).toHaveBeenCalledTimes(1));
});

it('tells when a file comes back after it was gone', async () => {
  const file = join(temporaryDirectory(), 'a.yaml');
  const { changed } = await watch(async () => [file]);
  writeFileSync(file, '1');
  await eventually(() => expect(changed).toHaveBeenCalledTimes(1));
  rmSync(file);
  await eventually(() => expect(changed).toHaveBeenCalledTimes(2));
  writeFileSync(file, '1');
  await eventually(() => expect(changed).toHaveBeenCalledTimes(3));
});

it('tells of a change that happens while the last one is handled, and only after that', async () => {
  const file = join(temporaryDirectory(), 'a.yaml');
  let running = 0;
  const { changed } = await watch(
    async () => [file],
    async () => {
      expect(++running).toBe(1);
      if (changed.mock.calls.length === 1) writeFileSync(file, 'again, and longer');
      await new Promise(setImmediate);
      running--;
    },
  );
  writeFileSync(file, 'once');

  await eventually(() => expect(changed).toHaveBeenCalledTimes(2));
  await expect(changed.mock.settledResults[0]).toMatchObject({ type: 'fulfilled' });
});

it('leaves a file alone while it is being written', async () => {
  const file = join(temporaryDirectory(), 'a.yaml');
  const SLOW_WRITES = 5;
  let looks = 0;
  let looksBeforeChange = 0;
  const { changed, twoMoreLooks } = await watch(
    async () => {
      if (++looks > 1 && looks <= 1 + SLOW_WRITES) appendFileSync(file, 'more');
      return [file];
    },
    async () => {
      looksBeforeChange = looks;
    },
  );

  await eventually(() => expect(changed).toHaveBeenCalled());
  expect(looksBeforeChange).toBe(1 + SLOW_WRITES + 1);
  await twoMoreLooks();
  expect(changed).toHaveBeenCalledTimes(1);
});

it('ends when it is stopped', async () => {
  const file = join(temporaryDirectory(), 'a.yaml');
  const first = await watch(async () => [file]);
  const second = await watch(async () => [file]);
  await first.twoMoreLooks();
  first.stop();
  await second.twoMoreLooks();
  const looks = first.looks();
  writeFileSync(file, '');

  await eventually(() => expect(second.changed).toHaveBeenCalledTimes(1));
  expect(first.changed).not.toHaveBeenCalled();
  expect(first.looks()).toBe(looks);
});
