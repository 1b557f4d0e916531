// @ts-check
/** @import { PageState } from '../state.ts' */
import { byId, fill } from './dom.js';
import { field } from './filter-fields.js';
import { detailsOf, idOf, rank, rowOf } from './policy-rows.js';
import { counted, number } from './words.js';

/** The panel of policies. */
export function policiesView() {
  const body = byId('policies-body');
  /** @type {Set<string>} */
  const open = new Set();
  /** @type {PageState | undefined} */
  let latest;
  const text = field('policies-filter', show);

  body.addEventListener('click', ({ target }) => {
    const button = target instanceof Element ? target.closest('button') : undefined;
    const id = button?.dataset.policy;
    if (id === undefined) return;
    if (!open.delete(id)) open.add(id);
    show();
  });

  function show() {
    if (!latest) return;
    const { policies } = latest;
    const needle = text().trim().toLowerCase();
    const visible = policies.filter(({ kind, name, mode = '' }) =>
      `${kind} ${name} ${mode}`.toLowerCase().includes(needle),
    );
    const sorted = [...visible].sort((a, b) => rank(b) - rank(a));
    fill(body, [sorted, [...open]], () =>
      sorted.flatMap((policy) => {
        const id = idOf(policy);
        const row = rowOf(policy, id, open.has(id));
        return open.has(id) ? [row, detailsOf(policy, id)] : [row];
      }),
    );
    byId('policies-count').textContent =
      visible.length === policies.length
        ? counted(policies.length, 'policy', 'policies')
        : `${number(visible.length)} of ${counted(policies.length, 'policy', 'policies')}`;
    byId('policies-none').hidden = visible.length > 0;
    byId('policies-none').textContent =
      policies.length === 0 ? 'There are no policies: nothing is protected.' : 'No policy is called that.';
  }

  return {
    /** @param {PageState} state */
    show(state) {
      latest = state;
      show();
    },
  };
}
