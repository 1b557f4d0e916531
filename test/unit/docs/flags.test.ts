import { describe, expect, it } from 'vitest';
import { syntaxOf } from '../../../scripts/command-syntax.ts';
import { allCommands } from '../../../src/cli/commands.ts';
import { createProgram } from '../../../src/cli/main.ts';
import { allPages, type Page } from './pages.ts';

/** The flags of each command, by the words after the program's name: `coverage fix`, for example. */
const FLAGS = new Map(
  syntaxOf(createProgram(allCommands(() => {}))).map(({ path, flags }) => [
    path.split(' ').slice(1).join(' '),
    new Set(flags),
  ]),
);
const ANY = new Set([...FLAGS.values()].flatMap((flags) => [...flags]));

/** Flags of other programs, where a page names the flag without the program. */
const OF_OTHERS: Readonly<Record<string, readonly string[]>> = {
  helm: ['--set', '--values', '--reset-then-reuse-values', '--reuse-values', '--take-ownership', '--force-conflicts'],
  'kube-apiserver': ['--feature-gates', '--runtime-config', '--admission-control-config-file'],
  'kube-controller-manager': ['--use-service-account-credentials'],
  kubectl: ['--overwrite', '--previous'],
  kubelet: ['--node-labels', '--register-with-taints', '--hostname-override'],
  etcdutl: ['--bump-revision', '--mark-compacted'],
  'cluster-autoscaler': [
    '--startup-taint',
    '--startup-taint-prefix',
    '--max-node-startup-time',
    '--ok-total-unready-count',
    '--max-total-unready-percentage',
    '--scale-down-unready-time',
  ],
  node: [
    '--disallow-code-generation-from-strings',
    '--expose-gc',
    '--heap-growing-percent',
    '--lite-mode',
    '--max-semi-space-size',
    '--minor-ms',
    '--max-opt',
    '--no-maglev',
    '--no-parallel-scavenge',
    '--optimize-for-size',
    '--single-threaded-gc',
  ],
};
const KNOWN = new Set([...ANY, ...Object.values(OF_OTHERS).flat()]);

/** The changelog also names flags that were removed. */
const pages = allPages().filter(({ path }) => /^(README\.md|docs\/|design\/)/.test(path));

interface Named {
  readonly line: number;
  readonly code: string;
}

/** Lines of code blocks, joined where they are continued, and code in the text. */
function codeOf({ text }: Page): Named[] {
  const lines = text.split('\n');
  let fenced = false;
  return lines.flatMap((content, index) => {
    if (/^ *```/.test(content)) {
      fenced = !fenced;
      return [];
    }
    const line = index + 1;
    if (!fenced) return [...content.matchAll(/`([^`]+)`/g)].map(([, code = '']) => ({ line, code }));
    if (lines[index - 1]?.endsWith('\\')) return [];
    let code = content;
    for (let next = index + 1; code.endsWith('\\'); next++) code = `${code.slice(0, -1)}${lines[next]?.trim() ?? ''}`;
    return [{ line, code }];
  });
}

/** The flags that a text gives to a command of ours, which may stand after the program's name or alone. */
function unknownFlags(code: string): string[] {
  const calls = [
    ...code.matchAll(/(?:\btaintkeeper|\btaintkeeper\.(?:js|cjs)| -- (?=doctor|explain))((?: [^|;&>`()]+)?)/g),
  ].map(([, rest = '']) => rest);
  const alone = FLAGS.has(code.split(' ', 1)[0] ?? '') && /^[a-z]+( [a-z]+)? -/.test(code) ? [` ${code}`] : [];
  const bare = /^--[a-z]/.test(code) ? [code] : [];
  return [
    ...[...calls, ...alone].flatMap(flagsNotOfCommand),
    ...bare.flatMap((text) => flagsIn(text).filter((flag) => !KNOWN.has(flag))),
  ];
}

function flagsNotOfCommand(rest: string): string[] {
  const words = rest.trim().split(/\s+/);
  const path = [words.slice(0, 2).join(' '), words[0] ?? ''].find((name) => FLAGS.has(name));
  if (path === undefined || path === '') return [];
  return flagsIn(rest).flatMap((flag) => (FLAGS.get(path)?.has(flag) ? [] : [`${path} ${flag}`]));
}

function flagsIn(text: string): string[] {
  return [...text.matchAll(/(?<=^|\s)(--[a-z][a-z-]*|-[a-zA-Z])(?=$|[\s=])/g)].map(([, flag = '']) => flag);
}

it('finds a flag that a command does not have, and those of all commands', () => {
  const known = 'taintkeeper coverage fix -n kube-flannel --taint dedicated | kubectl apply -f -';
  expect(unknownFlags(known)).toEqual([]);
  expect(unknownFlags('taintkeeper coverage fix --gaps')).toEqual(['coverage fix --gaps']);
  expect(unknownFlags('serve --identity x')).toEqual(['serve --identity']);
  expect(unknownFlags('--client-name')).toEqual(['--client-name']);
});

describe('each flag that a page names exists', () => {
  it.each(pages)('$path', (page) => {
    const unknown = codeOf(page).flatMap(({ line, code }) => unknownFlags(code).map((flag) => `line ${line}: ${flag}`));
    expect(unknown).toEqual([]);
  });
});

it('the pages name a good part of all flags, so that this check sees them', () => {
  const named = new Set(pages.flatMap(codeOf).flatMap(({ code }) => flagsIn(code)));
  expect([...ANY].filter((flag) => named.has(flag)).length).toBeGreaterThan(30);
});
