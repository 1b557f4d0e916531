import { expect, it } from 'vitest';
import { checkReports } from '../../../src/doctor/checks/leader.ts';
import type { Facts } from '../../../src/doctor/facts.ts';
import { known } from '../../../src/doctor/reading.ts';
import { healthyFacts, INSTALLATION, unseen } from './facts.ts';

const installation = { ...INSTALLATION, writesReports: true };
const NOT_PERMITTED = known({ user: 'u', asked: 1, lacking: [], notPermitted: ['writeReports'] as const });

it.each<{ what: string; facts: Partial<Facts>; expected: readonly [string, RegExp, RegExp?][] }>([
  { what: 'the installation writes no reports', facts: { rights: NOT_PERMITTED }, expected: [] },
  {
    what: 'all is there',
    facts: { installation, foreignReports: known(['somebody-elses']) },
    expected: [['ok', /has ClusterReports \(openreports\.io\/v1alpha1\)/]],
  },
  {
    what: 'the name of one is taken',
    facts: { installation, foreignReports: known(['taintkeeper-taintpolicy-gpu', 'taintkeeper-taintpolicy-gone']) },
    expected: [
      [
        'problem',
        /^TaintPolicy gpu has no report: ClusterReport taintkeeper-taintpolicy-gpu lacks the label .*managed-by=taintkeeper/,
        /^if it is not needed: kubectl delete clusterreport taintkeeper-taintpolicy-gpu$/,
      ],
    ],
  },
  {
    what: 'the name of one is taken, and policies cannot be read',
    facts: { installation, foreignReports: known(['a']), policies: unseen('no answer') },
    expected: [['skipped', /no answer/]],
  },
  {
    what: 'the definitions are missing',
    facts: { installation, policies: unseen('no answer') },
    expected: [['problem', /does not serve openreports\.io\/v1alpha1/, /CustomResourceDefinitions of OpenReports/]],
  },
  {
    what: 'the right is missing',
    facts: { installation, rights: NOT_PERMITTED },
    expected: [
      [
        'problem',
        /permission to write ClusterReports/,
        /^echo .*"apiGroups":\["openreports\.io"\],"resources":\["clusterreports"\],"verbs":\["list","create","update","delete"\].* \| kubectl apply -f -$/,
      ],
    ],
  },
  {
    what: 'doctor cannot read the reports',
    facts: { installation, foreignReports: unseen('no answer') },
    expected: [['skipped', /no answer/]],
  },
])('$what', ({ facts, expected }) => {
  const found = checkReports(healthyFacts(facts));
  expect(found).toEqual(
    expected.map(([state, evidence, remedy]) => ({
      ...{ state, evidence: expect.stringMatching(evidence) },
      ...(remedy ? { remedy: expect.stringMatching(remedy) } : {}),
    })),
  );
});
