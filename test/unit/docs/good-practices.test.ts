import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isRun, testsLinkedIn } from './linked-tests.ts';
import { ROOT } from './pages.ts';

const PAGE = readFileSync(join(ROOT, 'docs/good-practices.md'), 'utf8');
const ROWS = PAGE.split('\n').filter((line) => /^\| (?!---)/.test(line) && !line.endsWith('| held by |'));

/** The headings of Kubernetes' page that recommend something, in its order. */
const RECOMMENDATIONS = [
  'identify-admission-webhooks',
  'choose-admission-mechanism',
  'no-crd-validation-defaulting',
  'design-admission-webhooks-low-latency',
  'prevent-loops-competing-controllers',
  'small-timeout',
  'load-balancer-webhook',
  'ha-deployment',
  'webhook-limit-scope',
  'filter-match-conditions',
  'match-all-versions',
  'patch-required-fields',
  'dont-overwrite-arrays',
  'avoid-side-effects',
  'avoid-self-mutation',
  'avoid-dependency-loops',
  'fail-open-validate-final-state',
  'plan-future-field-updates',
  'prevent-webhook-self-trigger',
  'dont-change-immutable-objects',
  'dont-rely-webhook-order',
  'ensure-mutating-webhook-idempotent',
  'test-in-staging-environments',
  'ensure-mutations-dont-violate-validations',
  'test-minor-version-upgrades',
  'validate-mutations',
  'install-enable-mutating-webhook',
  'limit-edit-access',
];

it('the page has every recommendation of Kubernetes once', () => {
  const linked = [...PAGE.matchAll(/admission-webhooks-good-practices\/#([a-z-]+)\)/g)].map(([, anchor]) => anchor);
  expect(linked.toSorted()).toEqual(RECOMMENDATIONS.toSorted());
});

it('each row says what holds it, by the names of tests that there are', () => {
  expect(ROWS.length).toBeGreaterThan(RECOMMENDATIONS.length);
  expect(ROWS.filter((row) => testsLinkedIn(row).length === 0 && !row.endsWith('| the same |'))).toEqual([]);
  const named = testsLinkedIn(PAGE);
  expect(named.filter(({ path }) => !isRun(path))).toEqual([]);
  const missing = named.filter(({ text, path }) => !readFileSync(join(ROOT, path), 'utf8').includes(text));
  expect(missing).toEqual([]);
});
