import { expect, it } from 'vitest';
import { housePlan, withHousePlan } from '../../../scripts/house-plan.ts';
import type { SourceFile } from '../../../scripts/rooms.ts';

const file = (path: string, ...imports: string[]): SourceFile => ({ path, imports, text: '', packages: [] });

const row = (plan: string, room: string) => plan.split('\n').find((line) => line.includes(`\`${room}\``));

it('shows each room with its files and the rooms that they import from, the highest first', () => {
  const plan = housePlan([
    file('version.ts'),
    file('judge/a.ts', 'kubernetes/taint.ts', 'judge/b.ts'),
    file('judge/b.ts', 'policy/policy.ts'),
  ]);
  expect(row(plan, 'judge/')).toMatch(/^\| 4 \| .* \| 2 \| policy, kubernetes \|$/);
  expect(row(plan, 'version.ts')).toMatch(/^\| 1 \| .* \| 1 \| – \|$/);
});

it('goes from the top floor down', () => {
  const floors = housePlan([])
    .split('\n')
    .flatMap((line) => /^\| (\d+) \|/.exec(line)?.slice(1).map(Number) ?? []);
  expect(floors).toEqual(floors.toSorted((a, b) => b - a));
  expect(floors.at(-1)).toBe(1);
});

it('stands between its markers, and replaces the plan of before', () => {
  const [begin, end] = ['<!-- plan of src: begin; written by `npm run generate` -->', '<!-- plan of src: end -->'];
  const once = withHousePlan(`before\n${begin}\nold\n${end}\nafter\n`);
  expect(once).toMatch(/^before\n[\s\S]*`judge\/`[\s\S]*\nafter\n$/);
  expect(once).not.toContain('old\n');
  expect(withHousePlan(once)).toBe(once);
  expect(() => withHousePlan(end)).toThrow('not found');
});
