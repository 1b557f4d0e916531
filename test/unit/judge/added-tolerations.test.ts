import { expect, it } from 'vitest';
import { ADDED_ANNOTATION, addedHere, addedTolerations, recordOfAdded } from '../../../src/judge/added-tolerations.ts';
import type { Violation } from '../../../src/judge/violation.ts';

const ADDED = ['node-role.kubernetes.io/master:NoSchedule', 'gpu=a100:NoExecute'].map(
  (subject) => ({ subject }) as Violation,
);

it('the annotation lists each added toleration once, the earliest first', () => {
  const first = recordOfAdded({ annotations: {}, tolerations: [] }, ADDED.slice(1), undefined);
  expect(first).toEqual({ [ADDED_ANNOTATION]: 'gpu=a100:NoExecute' });
  const both = recordOfAdded({ annotations: first, tolerations: [] }, ADDED, 'uid-1');
  expect(both).toEqual({
    [ADDED_ANNOTATION]: 'gpu=a100:NoExecute, node-role.kubernetes.io/master:NoSchedule; by uid-1',
  });
  expect(addedTolerations(both)).toEqual(ADDED.toReversed().map(({ subject }) => subject));
});

it.each([
  { why: 'its own', by: 'uid-1', installation: 'uid-1', here: ['gpu'] },
  { why: 'that of an earlier one', by: 'uid-1', installation: 'uid-2', here: [] },
  { why: 'without a name', by: undefined, installation: 'uid-2', here: ['gpu'] },
  { why: 'of one with a name, by one that has none', by: 'uid-1', installation: undefined, here: ['gpu'] },
])('an installation answers for a record that is $why: $here', ({ by, installation, here }) => {
  const annotations = { [ADDED_ANNOTATION]: by === undefined ? 'gpu' : `gpu; by ${by}` };

  expect(addedHere(annotations, installation)).toEqual(here);
});

it('the tolerations of an earlier installation stay listed while the DaemonSet has them', () => {
  const annotations = { [ADDED_ANNOTATION]: 'gpu:NoSchedule, gone; by uid-1' };
  const daemonSet = { annotations, tolerations: [{ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }] };

  expect(recordOfAdded(daemonSet, [], 'uid-2')).toEqual({
    [ADDED_ANNOTATION]: 'gpu:NoSchedule; by uid-2',
  });
});

it('only the beginning of a list that is too long counts', () => {
  const texts = Array.from({ length: 15_000 }, (_, index) => `${index}`);
  const annotations = { [ADDED_ANNOTATION]: texts.join() };
  expect(addedTolerations(annotations)).toEqual(texts.slice(0, 1_024));
});

it.each([
  { why: 'absent', annotations: {} },
  { why: 'empty', annotations: { [ADDED_ANNOTATION]: '' } },
  { why: 'null, as Go writes an empty text', annotations: { [ADDED_ANNOTATION]: null } },
  { why: 'only separators', annotations: { [ADDED_ANNOTATION]: ' , ' } },
  { why: 'only a name', annotations: { [ADDED_ANNOTATION]: '; by uid-1' } },
])('an annotation that is $why lists nothing', ({ annotations }) => {
  expect(addedTolerations(annotations)).toEqual([]);
});
